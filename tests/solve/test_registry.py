from collections import Counter
from dataclasses import replace
from importlib.util import find_spec

import pytest

from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN
from spmopt.schedulers.registry import BOUNDER, SCHEDULERS, STARTS, Kind, find


@pytest.mark.parametrize("name", SCHEDULERS)
def test_entries_are_complete_and_load(name: str) -> None:
    entry = SCHEDULERS[name]
    assert entry.name == name
    assert entry.summary
    assert entry.source
    assert "\n" not in entry.summary + entry.source
    assert entry.granularity in ("whole", "page", "fluid")
    assert find_spec(entry.target.split(":")[0]) is not None
    assert callable(entry.load())


def test_roles() -> None:
    assert Counter(entry.kind for entry in SCHEDULERS.values()) == {
        Kind.POLICY: 3,
        Kind.FORMULATION: 2,
        Kind.RELAXATION: 1,
    }
    assert {SCHEDULERS[name].kind for name in STARTS} == {Kind.POLICY}
    assert SCHEDULERS[BOUNDER].kind is Kind.RELAXATION


def test_unknown_name() -> None:
    with pytest.raises(InputError, match=r"no scheduler called 'belday'; did you mean belady\?"):
        find("belday")
    with pytest.raises(InputError, match="choose one of belady, fluid, lru"):
        find("x")


def test_unsupported_objective() -> None:
    find("page").require(MAKESPAN)
    with pytest.raises(InputError, match="scheduler page: no objective beauty; use makespan"):
        find("page").require(replace(MAKESPAN, name="beauty"))
