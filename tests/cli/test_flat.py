"""Groups of options, also of groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import Parameter, signature

from spmopt.cli.flat import flat


@dataclass(frozen=True, kw_only=True)
class Inner:
    size: int = 1
    names: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    network: str
    inner: Inner = field(default_factory=Inner)
    last: bool = False


def test_fields_of_groups_within_groups_stand_in_their_place() -> None:
    given: list[Outer] = []

    @flat
    def command(outer: Outer, json: bool = False) -> int:
        given.append(outer)
        return int(json)

    parameters = signature(command).parameters
    assert list(parameters) == ["network", "size", "names", "last", "json"]
    assert parameters["network"].default is Parameter.empty
    assert (parameters["size"].default, parameters["names"].annotation) == (1, list[str] | None)
    values = {"network": "a", "size": 2, "names": ["b"], "last": True}
    assert command(**values, json=True) == 1
    assert given == [Outer(network="a", inner=Inner(size=2, names=["b"]), last=True)]
