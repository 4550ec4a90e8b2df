"""A dataclass with a quicker ``__init__`` takes, checks and refuses what it did."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, make_dataclass, replace
from inspect import Parameter, signature

import pytest

from spmopt.core.quick_init import quick_init


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """With all that a field can have."""

    name: str
    size: int = 3
    more: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(f"{self.name}: size is negative")


def test_it_takes_and_gives_the_same() -> None:
    taken = [(each.name, each.kind) for each in signature(Record).parameters.values()]
    assert taken == [(name, Parameter.KEYWORD_ONLY) for name in ("name", "size", "more")]
    first, second = Record(name="a"), Record(name="b", size=2, more={"c": 1})
    assert (first.name, first.size, first.more) == ("a", 3, {})
    assert (second.name, second.size, second.more) == ("b", 2, {"c": 1})
    assert Record(name="a").more is not first.more
    assert first == Record(name="a") != second
    assert replace(first, name="b", size=2, more={"c": 1}) == second
    assert pickle.loads(pickle.dumps(second)) == second
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'name'"):
        Record()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'sizes'"):
        Record(name="a", sizes=3)  # type: ignore[call-arg]
    with pytest.raises(FrozenInstanceError):
        first.size = 4  # type: ignore[misc]


def test_what_it_checks_is_checked() -> None:
    with pytest.raises(ValueError, match="a: size is negative"):
        Record(name="a", size=-1)


@pytest.mark.parametrize("options", [{"slots": True}, {"kw_only": True}])
def test_dataclasses_of_another_kind_are_refused(options: dict[str, bool]) -> None:
    made = make_dataclass("Other", [("name", str)], frozen=True, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Other: is no dataclass with slots and keywords only"):
        quick_init(made)
