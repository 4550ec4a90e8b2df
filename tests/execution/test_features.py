"""Whatever schedules and machines can say is executed, or refused in a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import spmopt
from spmopt.core.machine import Bank, Machine
from spmopt.core.params import OrderParams, SolveParams
from spmopt.core.problem import TensorKind
from spmopt.core.scheduler import Request
from tests.banked import with_these
from tests.graph import networks
from tests.solving.fakes import bounds_only, install

PAGE, SPM = 64, 2048
PLAIN = spmopt.machine(spm=SPM, page=PAGE)


def banks(*, retention_ns: float | None = None) -> Machine:
    """A small bank, and a large one whose writes cost more or whose contents fade."""
    return with_these(
        PLAIN,
        (
            Bank(spm_bytes=SPM // 4, read_pj_per_byte=1.0, write_pj_per_byte=1.0),
            Bank(
                spm_bytes=SPM // 4 * 3,
                read_pj_per_byte=0.5,
                write_pj_per_byte=2.0,
                retention_ns=retention_ns,
            ),
        ),
    )


MACHINES: Mapping[str, tuple[Machine, str]] = {
    "duplex": (replace(PLAIN, duplex=True), "belady-size:granularity=page"),
    "set-up": (replace(PLAIN, dma_setup_cycles=50), "msa"),
    "bypass": (replace(PLAIN, bypass=(TensorKind.WEIGHT_GRADIENT,)), "page"),
    "banks": (banks(), "banks"),
    "retention": (banks(retention_ns=300.0), "banks"),
    "contiguous": (PLAIN, "contiguous"),
    "free order": (PLAIN, "tsai"),
}


@pytest.fixture(scope="module")
def step() -> spmopt.Workload:
    return spmopt.load(networks.residual(), training=True, optimizer="adam")


@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_is_executed(
    name: str, step: spmopt.Workload, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine, scheduler = MACHINES[name]
    if scheduler not in ("banks", "residency"):
        install(monkeypatch, lp_bound=bounds_only)
    problem = spmopt.lower(step, machine)
    objective = "energy" if machine.banks else "time"
    solution = spmopt.solve(
        problem, scheduler, objective=objective, time_limit=10.0 if machine.banks else 0.3
    )
    file = tmp_path / "result.json"
    solution.save(file)
    for found in (spmopt.run(solution), spmopt.run(file, step), spmopt.run(file, kernels="hash")):
        assert found.same, found
        assert found.comparison.tensors > 4


def test_an_order_that_was_searched_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    # Any order that is found will do.
    params = SolveParams(orders=OrderParams(moved_operations=10))
    monkeypatch.setattr("spmopt.core.scheduler.Request", partial(Request, params=params))
    problem = spmopt.lower(spmopt.load(networks.lstm(1)), PLAIN, order="searched")
    found = spmopt.run(spmopt.solve(problem, "lru"))
    assert found.same
    assert found.kernels.startswith("reference")


def test_replayed_schedules_are_executed() -> None:
    problem = spmopt.lower(spmopt.load(networks.mlp()), PLAIN)
    solution = spmopt.solve(problem, "joint", objective="replay", time_limit=0.3)
    assert spmopt.run(solution).same


def test_a_bound_alone_is_refused_in_a_line() -> None:
    problem = spmopt.lower(spmopt.load(networks.mlp()), PLAIN)
    solution = spmopt.solve(problem, "lp-bound", time_limit=1.0)
    with pytest.raises(spmopt.InputError) as raised:
        spmopt.run(solution)
    assert "\n" not in str(raised.value)
