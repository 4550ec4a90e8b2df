"""Options of commands: records whose fields are parameters of one function of :mod:`spmopt.api`.

Each record takes names, types, defaults and help from the function that its values are given to:
``load(source, **vars(LoadOptions()))``. cyclopts reads options from fields, types and docstrings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from cyclopts import Group, Parameter

from spmopt.api import inputs, mapper, scheduling
from spmopt.core.errors import InputError
from spmopt.core.validation import is_file

if TYPE_CHECKING:  # they would load numpy, and help should not
    from cyclopts import Token

    from spmopt.api.callbacks import Callbacks
    from spmopt.core.machine import Machine
    from spmopt.core.problem import Problem

_SEARCH = Group("Search", sort_key=1)
_NETWORK = Group("Network", sort_key=2)
_MACHINE = Group("Machine", sort_key=3)
_MAPPER = Group("Mapper", sort_key=4)
"""Panels of the options of one command."""


def names(kind: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Read names with commas or blanks between."""
    del kind
    # Blanks too: a quoted list from a shell variable often has them.
    return tuple(name for token in tokens for name in token.value.replace(",", " ").split())


def settings(kind: object, tokens: Sequence[Token]) -> dict[str, str]:
    """Read values NAME=VALUE."""
    del kind
    return dict(map(_setting, tokens))


def counts(kind: object, tokens: Sequence[Token]) -> dict[str, int]:
    """Read values NAME=N."""
    found = settings(kind, tokens)
    for name, value in found.items():
        # Python refuses to convert very long digits with an error that names no option.
        if not value.removeprefix("-").isdecimal() or len(value) > _DIGITS:
            raise InputError(f"{tokens[0].keyword} {name}={value}: {value!r} is not a whole number")
    return {name: int(value) for name, value in found.items()}


_DIGITS = 18


def _setting(token: Token) -> tuple[str, str]:
    name, _, value = (part.strip() for part in token.value.partition("="))
    if not (name and value):
        option = token.keyword
        raise InputError(f"{option} {token.value!r}: write {option} NAME=VALUE")
    return name, value


Names = Annotated[tuple[str, ...], Parameter(converter=names, n_tokens=1, metavar="NAMES")]
Settings = Annotated[
    Mapping[str, str],
    Parameter(
        converter=settings,
        n_tokens=-1,  # one a time, any number of times
        accepts_keys=False,
        metavar="KEY=VALUE",
    ),
]
Counts = Annotated[
    Mapping[str, int],
    Parameter(
        converter=counts,
        n_tokens=-1,  # one a time, any number of times
        accepts_keys=False,
        metavar="NAME=N",
    ),
]
Target = Annotated[Path, Parameter(name=("--output", "-o"), allow_leading_hyphen=True)]
"""File or folder to write, which the docstring of a command describes."""
Output = Annotated[Target, Parameter(help="File to write; an existing one is replaced.")]
Network = Annotated[
    str,
    Parameter(
        help="Name ('spmopt networks' lists them), ONNX file, torch program (.pt2), or JSON."
    ),
]
Networks = Annotated[
    tuple[str, ...],
    Parameter(help="Names, ONNX files, torch programs (.pt2), or problems as JSON."),
]
Result = Annotated[Path, Parameter(help="Result file, written by 'spmopt solve -o'.")]

_WRITTEN = {
    "bank": Parameter(metavar="SIZE:TECHNOLOGY[:PORTS]"),
    "base": Parameter(name="--machine"),
    "jobs": Parameter(help="Number of processes; default: all processors."),
    "objectives": Parameter(name="--objective"),
    "output": Parameter(name=("--output", "-o")),
    "parameters": Parameter(name="--param"),
    "scheduler": Parameter(name=("--scheduler", "-s")),
    "schedulers": Parameter(name=("--schedulers", "--scheduler", "-s")),
    "settings": Parameter(name="--set"),
    **dict.fromkeys(("costs", "fusion_plan", "params"), Parameter(metavar="FILE")),
    **dict.fromkeys(("gemm", "tile"), Parameter(metavar="MxKxN")),
}
"""Parameters that are written otherwise than by their name, or whose value needs explaining."""
_KINDS: Mapping[str, Any] = {
    "Mapping[str, int]": Counts,
    "Mapping[str, Setting]": Settings,
    "Sequence[str]": Names,
    # Quantities may be numbers in Python, but have a unit on the command line.
    "str": str,
    "bool": bool,
    "int": int,
    "float": float,
}
"""Types of options by members of annotations; the first that is there."""


class Options:
    """Options whose values are arguments of one function.

    Parameters
    ----------
    of
        The function.
    group
        Panel of the help; default: that of the parameters of the command.
    without
        Keyword arguments that are no options of the record.
    defaults
        Defaults of the command line, of positional arguments too.
    """

    def __init_subclass__(
        cls,
        of: Callable[..., Any],
        group: Group | None = None,
        without: Collection[str] = (),
        **defaults: object,
    ) -> None:
        cls.__annotations__ = {}
        for name, parameter in inspect.signature(of).parameters.items():
            is_option = parameter.kind is parameter.KEYWORD_ONLY and name != "callbacks"
            if name in defaults or (is_option and name not in without):
                default = defaults.get(name, parameter.default)
                cls.__annotations__[name] = _annotate(name, str(parameter.annotation), default)
                setattr(cls, name, default)
        # cyclopts reads the help of fields from the docstring of their class.
        cls.__doc__ = of.__doc__
        panel = Parameter(name="*") if group is None else Parameter(name="*", group=group)
        # Records are not compared; to generate methods for it would take time at each start.
        panel(dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls))

    if TYPE_CHECKING:  # fields are made above
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

        def __getattr__(self, name: str) -> Any: ...


def _annotate(name: str, annotation: str, default: object) -> Any:
    """Return the type of an option; annotations are read as text, as they import nothing then."""
    members = annotation.split(" | ")
    kind = next((kind for member, kind in _KINDS.items() if member in members), str)
    if name in ("bank", "schedulers"):
        # Banks have no commas between them; policies are functions in Python alone.
        kind = tuple[str, ...] if name == "bank" else Names
    optional = kind | None if default is None else kind
    switch = Parameter(negative=f"--no-{name}") if kind is bool and default is not False else None
    return Annotated[optional, _WRITTEN.get(name, Parameter()), switch or Parameter()]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Printing:
    """Form of the output.

    Parameters
    ----------
    json
        Print JSON.
    quiet
        Suppress all output except errors.
    """

    json: bool = False
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"))] = False

    def __post_init__(self) -> None:
        # Neither should win silently: scripts would get no output or unwanted output.
        if self.json and self.quiet:
            raise InputError("--quiet prints nothing, --json prints JSON: give one of them")


class TrainingOptions(Options, of=inputs.load, group=_NETWORK, without=("batch",)):
    """Options of a network whose batch size is given elsewhere."""


class LoadOptions(Options, of=inputs.load, group=_NETWORK):
    """Options of a network."""


class MachineSettings(Options, of=inputs.machine, group=_MACHINE, without=("bank",)):
    """Settings of a machine that is given elsewhere."""


class MachineOptions(Options, of=inputs.machine, group=_MACHINE, base=None):
    """Options of a machine."""

    def machine(self, default: str | Machine, callbacks: Callbacks) -> Machine:
        """Return the machine that the options describe."""
        # vars(self) names parameters of inputs.machine, so that a new option needs no code here.
        changes = {**vars(self), "base": self.base or default}
        return inputs.machine(**changes, callbacks=callbacks)


class CostOptions(Options, of=mapper.lower, group=_MAPPER, without=("order", "time_limit")):
    """Options of a problem in the order of the network."""


class LowerOptions(CostOptions, of=mapper.lower, group=_MAPPER, without=("time_limit",)):
    """Options of a problem."""


_PLANS = ("fusion", "fusion_plan", "params")
_AIMS = ("objective", "timing")


class Limits(Options, of=scheduling.solve, group=_SEARCH, without=(*_PLANS, *_AIMS)):
    """Limits of a search."""


class AimOptions(Options, of=scheduling.solve, group=_SEARCH, without=_PLANS):
    """Objective and limits of a search."""

    def aim(self) -> str:
        """Return the name of the objective for the timing."""
        from spmopt.core.objective import with_timing

        return str(with_timing(self.objective, self.timing))


class SearchOptions(AimOptions, of=scheduling.solve, group=_SEARCH):
    """Options of a search."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ListedProblemOptions:
    """A network on a machine, in the order of the network."""

    load: LoadOptions = LoadOptions()
    on: MachineOptions = MachineOptions()
    lower: CostOptions = CostOptions()

    def build(self, network: str, callbacks: Callbacks, order_s: float) -> Problem:
        """Load and lower the network, and search an order, if asked for, for ``order_s`` seconds.

        A wrong machine does not wait for a large network.
        """
        if inputs.is_stored(network):
            return self._lower_again(network, callbacks, order_s)
        machine = self.on.machine(inputs.DEFAULT_MACHINE, callbacks)
        workload = inputs.load(network, **vars(self.load), callbacks=callbacks)
        return self._lower(workload, machine, callbacks, order_s)

    def _lower_again(self, network: str, callbacks: Callbacks, order_s: float) -> Problem:
        """Return a stored problem on the machine, as far as its cycles stay the same."""
        from dataclasses import replace

        workload = inputs.load(network, **vars(self.load), callbacks=callbacks)
        if self.on.base is not None:
            raise inputs.already_lowered("base", network)
        assert workload.problem is not None
        doubts = list[str]()
        # A machine that the problem cannot follow is an error; warnings about it come after.
        machine = self.on.machine(workload.problem.machine, replace(callbacks, warn=doubts.append))
        lowered = self._lower(workload, machine, callbacks, order_s)
        for doubt in doubts:
            callbacks.warn(doubt)
        return lowered

    def _lower(
        self, workload: inputs.Workload, machine: Machine, callbacks: Callbacks, order_s: float
    ) -> Problem:
        options = {**vars(self.lower), "time_limit": order_s, "callbacks": callbacks}
        return mapper.lower(workload, machine, **options)

    @property
    def searches_order(self) -> bool:
        """Whether an order is searched before anything is scheduled."""
        return vars(self.lower).get("order") == "searched"

    def non_defaults(self) -> list[str]:
        """Return the options that are not at their default."""
        return [name for part in (self.load, self.on, self.lower) for name in give(part)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ProblemOptions(ListedProblemOptions):
    """A network on a machine, in any order."""

    lower: LowerOptions = LowerOptions()


def flag(parameter: str) -> str:
    """Return a parameter as an option is written."""
    written = tuple(_WRITTEN.get(parameter, Parameter()).name or ())
    return written[0] if written else "--" + parameter.replace("_", "-")


def give(options: Any) -> list[str]:
    """Return the options of a record that are not at their default, as they are written."""
    return [
        flag(each.name) for each in fields(options) if getattr(options, each.name) != each.default
    ]


def choices(lead: str, phrases: Mapping[str, str]) -> str:
    """Return the help of an option: ``lead``, and a line for each value with its meaning."""
    return "\n".join((f"{lead}\n", *(f"* {name}: {phrase}" for name, phrase in phrases.items())))


def require_output(path: Path, read: Sequence[object] = (), option: str = "--output") -> None:
    """Fail before the work unless ``path`` can be written, and is none of the files ``read``."""
    from spmopt.io.document import require_writable

    for name in read:
        file = Path(str(name or ""))
        # samefile, not equal names: links and relative paths may name one file.
        if is_file(path) and is_file(file) and path.samefile(file):
            raise InputError(f"{option} {path}: would replace the file that is read; name another")
    require_writable(path)
