"""Groups of options as dataclasses, which typer does not know of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def flat(command: Callable[..., int]) -> Callable[..., int]:
    """Offer every field of a dataclass parameter of ``command`` as a parameter of its own.

    A field that is such a group itself stands for its fields.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(
                Parameter(
                    name, Parameter.KEYWORD_ONLY, default=parameter.default, annotation=hints[name]
                )
            )

    @wraps(command)
    def wrapper(**values: Any) -> int:
        for name, group in groups.items():
            values[name] = _built(group, values)
        return command(**values)

    # Where inspect looks for it; a function's type has no such attribute.
    wrapper.__dict__["__signature__"] = Signature(parameters)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


def _built(group: Any, values: dict[str, Any]) -> Any:
    """Take the fields of a group out of ``values``."""
    hints = get_type_hints(group)
    own = {
        field.name: _built(hints[field.name], values)
        if is_dataclass(hints[field.name])
        else values.pop(field.name)
        for field in fields(group)
    }
    return group(**own)


def _parameters(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    found: list[Parameter] = []
    for field in fields(group):
        hint = hints[field.name]
        if is_dataclass(hint):
            found += _parameters(hint)
        else:
            default = Parameter.empty if field.default is MISSING else field.default
            found.append(
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
            )
    return found
