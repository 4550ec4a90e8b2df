"""The compiled dual gives what NumPy gives, to the last bit, and so the same searches."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

from formulations.residency.bound import compiled, dual
from formulations.residency.bound.dual import DualFunction
from formulations.residency.bound.duals import Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.paths import near_best_paths, path_columns, path_use
from formulations.residency.subgradient import ascend
from spmopt.core.timeline import Access
from tests.checked import need
from tests.formulations.priced import Case, cases
from tests.thorough import share

pytestmark = pytest.mark.skipif(
    compiled.library() is None, reason="built without a C compiler: there is nothing to compare"
)


def random_duals(case: Case, generator: np.random.Generator) -> Multipliers:
    """Many equal dual values and many zeros, so that ties decide."""
    steps, coefficients = case.intervals.steps, case.coefficients

    def some(scale: float) -> np.ndarray:
        levels = generator.integers(0, 4, steps) / 3
        noise = generator.random(steps) if generator.random() < 0.5 else 0.0
        return scale * (levels + noise * (levels > 0))

    byte = coefficients.byte_time
    return Multipliers.legal(coefficients, some(case.byte / 2), some(byte), some(byte))


def some_absent(drawn: list[Case], generator: np.random.Generator) -> Iterator[Case]:
    """In every third case a fifth of the accesses may have nothing resident, and moves a set-up."""
    for number, case in enumerate(drawn):
        absent = (generator.random(case.line.step.size) < 0.2) & ~case.line.required_resident
        early = (generator.random(absent.size) < 0.2) & (case.line.kind == Access.WRITE)
        early &= case.line.step > 0
        setup = float(generator.integers(0, 3) * 8)
        loads = bool(generator.integers(0, 2))
        somewhere = RankedIntervals(case.line, absent, early=early, setup_bytes=setup, loads=loads)
        yield case if number % 3 else replace(case, intervals=somewhere)


def without_kernel(monkeypatch: pytest.MonkeyPatch, case: Case, duals: Multipliers) -> DualFunction:
    with monkeypatch.context() as patch:
        patch.setattr(dual, "kernel_of", lambda intervals: None)
        return case.priced(duals)


def same(one: object, other: object) -> bool:
    """All arrays of two records, infinities included."""
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(one)  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("compression", [False, True])
@pytest.mark.parametrize("share", [compiled._SHARE, 2])
def test_every_figure_is_that_of_numpy(
    monkeypatch: pytest.MonkeyPatch, share: int, compression: bool
) -> None:
    """On one thread, and on several with a few accesses each.

    Of compressed tensors a path moves no whole bytes, so that sums depend on their order.
    """
    monkeypatch.setattr(compiled, "_SHARE", share)
    generator, several = np.random.default_rng(7), 0
    sizes = {"max_operations": 30, "max_tensors": 12, "compression": compression}
    equal = np.allclose if compression else np.array_equal
    for case in some_absent(cases(15, **sizes), generator):
        case.intervals.threads = 3
        for _ in range(3):
            duals = random_duals(case, generator)
            mine, plain = case.priced(duals), without_kernel(monkeypatch, case, duals)
            assert 1 <= len(need(mine.kernel).shares) <= compiled._SHARES
            several += len(need(mine.kernel).shares) > 1
            assert plain.kernel is None
            assert mine.value == plain.value
            assert all(map(equal, path_use(mine), path_use(plain)))
            assert same(path_columns(mine), path_columns(plain))
            assert same(mine.arc, plain.arc)
            assert same(mine.ahead, plain.ahead)
            assert same(mine.back, plain.back)
            assert np.array_equal(mine.best, plain.best)
            limit = case.byte * 0.1
            assert same(near_best_paths(mine, limit, 2), near_best_paths(plain, limit, 2))
    assert (several > 0) is (share == 2)


def test_no_more_threads_than_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_SHARE", 1)
    for case in cases(5):
        assert case.intervals.threads == 1
        kernel = need(compiled.kernel_of(case.intervals))
        assert kernel.workers == 1


def test_an_evaluation_is_not_taken_for_that_of_other_duals() -> None:
    """The buffers of the accesses are shared by all dual values."""
    generator = np.random.default_rng(3)
    for case in cases(share(10)):
        first, second = (case.priced(random_duals(case, generator)) for _ in range(2))
        before = (first.value, path_columns(first))
        assert second.value == case.priced(second.duals).value
        assert path_use(second)
        assert same(path_columns(first), before[1])
        assert replace(before[1]).access.size == path_columns(first).access.size
        assert case.priced(first.duals).value == before[0]


def test_an_ascent_finds_the_same_duals(monkeypatch: pytest.MonkeyPatch) -> None:
    for case in cases(share(12), max_operations=20):
        mine = ascend(case.intervals, case.coefficients, 40, 5, lambda: False)
        with monkeypatch.context() as patch:
            patch.setattr(dual, "kernel_of", lambda intervals: None)
            plain = ascend(case.intervals, case.coefficients, 40, 5, lambda: False)
        assert same(mine[0], plain[0])
        assert same(mine[1], plain[1])


def test_the_environment_chooses_numpy() -> None:
    code = "from formulations.residency.bound.compiled import library; print(library())"
    for choice, found in (("numpy", True), ("", False)):
        environment = {**os.environ, "SPMOPT_KERNEL": choice}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout.strip() == "None") is found


def test_a_library_of_another_source_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(compiled.__file__).parent
    for name in (*(path.name for path in folder.glob(f"{compiled.LIBRARY}.*")), "dual.c"):
        copyfile(folder / name, tmp_path / name)
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    find = compiled.library.__wrapped__
    monkeypatch.setattr(compiled, "library", find)
    assert find() is not None
    assert compiled.failure() is None
    with (tmp_path / "dual.c").open("a") as source:
        source.write("\n")
    assert find() is None
    assert "of another version: NumPy does its work" in str(compiled.failure())
    for path in tmp_path.glob(f"{compiled.LIBRARY}.*"):
        path.unlink()
    assert "is missing" in str(compiled.failure())
    monkeypatch.setenv("SPMOPT_KERNEL", "numpy")
    assert compiled.failure() is None
