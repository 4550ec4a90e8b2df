"""Solutions of curves on disk."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN
from spmopt.core.result import Certificate
from spmopt.hardware.machines import load_machine
from spmopt.sweeps.cases import Network, Section, SweepCase
from spmopt.sweeps.curve import EnclosedOptimum
from spmopt.sweeps.solutions import Solutions

CASE = SweepCase(
    network=Network(name="resnet50"), machine=load_machine("rtx2080ti"), capacities=(10**6,)
)
SECTION = Section(case=CASE, capacities=CASE.capacities)
ORDER = np.array([1, 0]).tobytes()


def solved(capacity_bytes: int, *, duplex: bool = False) -> EnclosedOptimum:
    prices = Certificate(
        objective=MAKESPAN,
        bits=40,
        spm=np.array([3, 2**58], np.int64),
        dram_in=np.array([1, 2], np.int64),
        dram_out=np.array([5, 0] if duplex else [1, 2], np.int64),
    )
    return EnclosedOptimum(
        capacity_bytes=capacity_bytes,
        lower=Fraction(1, 3),
        certificate=prices,
        upper=Fraction(2, 3),
        seconds=0.25,
    )


def same(one: EnclosedOptimum | None, other: EnclosedOptimum) -> bool:
    """Records with arrays have no equality."""
    if one is None or one.certificate is None or other.certificate is None:
        return False
    mine, its = one.certificate, other.certificate
    columns = ("spm", "dram_in", "dram_out")
    return (
        replace(one, certificate=None) == replace(other, certificate=None)
        and (mine.objective, mine.bits) == (its.objective, its.bits)
        and all(np.array_equal(getattr(mine, name), getattr(its, name)) for name in columns)
    )


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "part"
    store = Solutions(path, "a sweep", "time")
    store.put(SECTION, None, solved(4096))
    store.put(SECTION, ORDER, solved(8192, duplex=True))
    nothing = EnclosedOptimum(capacity_bytes=12288, lower=None, certificate=None, upper=None)
    store.put(SECTION, None, nothing)
    for _ in range(2):
        store = Solutions(path, "a sweep", "time")
        assert same(store.get(SECTION, None, 4096), solved(4096))
        assert same(store.get(SECTION, ORDER, 8192), solved(8192, duplex=True))
        assert store.get(SECTION, None, 12288) == nothing
    assert store.get(SECTION, None, 8192) is store.get(SECTION, ORDER, 4096) is None
    other = replace(SECTION, case=replace(CASE, machine=load_machine("a100")))
    assert store.get(other, None, 4096) is None
    store.remove()
    assert list(tmp_path.iterdir()) == []


def test_of_another_sweep(tmp_path: Path) -> None:
    Solutions(tmp_path / "part", "a sweep", "time").put(SECTION, None, solved(4096))
    assert Solutions(tmp_path / "part", "another", "time").get(SECTION, None, 4096) is None
    assert Solutions(tmp_path / "part", "a sweep", "time").get(SECTION, None, 4096) is None


@pytest.mark.parametrize("cut", [1, 2, 50])
def test_cut_off(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "part"
    store = Solutions(path, "a sweep", "time")
    store.put(SECTION, None, solved(4096))
    store.put(SECTION, None, solved(8192))
    path.write_text(path.read_text()[:-cut])
    store = Solutions(path, "a sweep", "time")
    assert same(store.get(SECTION, None, 4096), solved(4096))
    assert store.get(SECTION, None, 8192) is None
    store.put(SECTION, None, solved(8192))
    assert same(Solutions(path, "a sweep", "time").get(SECTION, None, 8192), solved(8192))


def test_lines_that_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "part"
    Solutions(path, "a sweep", "time").put(SECTION, None, solved(4096))
    path.write_text(path.read_text().replace('"1/3"', '"one third"'))
    assert Solutions(path, "a sweep", "time").get(SECTION, None, 4096) is None


def test_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="a folder is needed"):
        Solutions(tmp_path / "file" / "part", "a sweep", "time")
