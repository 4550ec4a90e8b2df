"""Trials on a Dask cluster, of this process for speed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from spmopt.core.errors import InputError
from spmopt.experiments.executors import open_executor
from spmopt.search.trials import front
from tests.search.study import machines, search, small_setup, values
from tests.solving.fakes import bounds_only, install


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove the cost of computation in place of solving the relaxation."""
    install(monkeypatch, fluid=bounds_only)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_finds_what_this_process_finds(tmp_path: Path, address: str) -> None:
    setup = small_setup()
    here = search(str(tmp_path / "a.db"), setup, sampler="brute-force", trials=99)
    there = search(str(tmp_path / "b.db"), setup, sampler="brute-force", trials=99, address=address)
    assert {tuple(t.values) for t in front(here)} == {tuple(t.values) for t in front(there)}
    assert len(machines(there)) == 9


def test_seeds_are_reproducible_on_a_cluster(tmp_path: Path, address: str) -> None:
    found = [
        search(str(tmp_path / f"{k}.db"), small_setup(), sampler="nsga2", trials=6, address=address)
        for k in range(2)
    ]
    assert machines(found[0]) == machines(found[1])
    assert values(found[0]) == values(found[1])


def test_no_cluster_is_one_line() -> None:
    with (
        pytest.raises(InputError, match=r"--scheduler-address nonsense://: no cluster answers"),
        open_executor(1, "nonsense://"),
    ):
        pass
