"""Banks as a field of a space; bounds of machines with banks."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.core.objective import objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relax_timeline
from spmopt.hardware.machines import load_machine
from spmopt.search.cuts import Cut
from spmopt.search.figures import static_figures
from spmopt.search.proofs import CutPool, least_of
from spmopt.search.setup import Setup
from spmopt.search.space import Space, space_of
from spmopt.search.trials import front, tally, trial_records
from spmopt.solving import solve
from spmopt.sweeps.cases import Network
from tests.banked import banked, with_these
from tests.formulations.banks.brute_force import optimum
from tests.formulations.banks.test_optimum import TINY
from tests.search.study import journal, search
from tests.search.test_cuts import SLACK, fluid_cycles
from tests.thorough import share, some

CHOICES = ["1MB:nvsim-sram", ["256kB:nvsim-sram", "3MB:nvsim-stt"], "2MB:nvsim-sram, 8MB:nvsim-stt"]
TEXTS = ["1MB:nvsim-sram", "256kB:nvsim-sram,3MB:nvsim-stt", "2MB:nvsim-sram,8MB:nvsim-stt"]


def of_banks(**fields: Any) -> Space:
    tables = {"machine": "gtx1080ti", "space": {"bank": CHOICES, **fields}}
    return space_of(tables, "space s.toml")


def test_choices_of_banks() -> None:
    space = of_banks()
    (axis,) = space.axes
    assert list(axis.choices) == TEXTS
    candidate = space.candidate({"bank": TEXTS[1]})
    assert candidate.machine == load_machine("gtx1080ti", {"bank": TEXTS[1]})
    record = candidate.record()
    assert (record["spm"], record["bank"]) == (3_256_000, "256000:nvsim-sram,3000000:nvsim-stt")
    areas = [bank.area_mm2 for bank in candidate.machine.banks]
    found = static_figures(("area_mm2",), candidate, {})["area_mm2"]
    engine = candidate.machine.area.mac_mm2 * candidate.mac_units
    assert found == pytest.approx(sum(area for area in areas if area is not None) + engine)
    assert space_of(space.record(), "again") == space


def test_a_base_machine_with_banks_comes_back(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        'bank = ["1MB:nvsim-sram", "4MB:nvsim-stt:8"]\n'
        'bandwidth = "100GB/s"\nthroughput = "1TFLOP/s"\nclock = "1GHz"\n'
    )
    tables = {"machine": "m.toml", "space": {"bandwidth": ["1GB/s", "2GB/s"]}}
    space = space_of(tables, "s", folder=tmp_path)
    assert len(space.machine.banks) == 2
    assert space_of(space.record(), "again") == space


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"bank": ["1MB:nvsim-sran", "1MB:nvsim-stt"]}, "did you mean nvsim-sram"),
        ({"bank": ["1MB", "1MB:nvsim-stt"]}, "bank '1MB': write SIZE:TECHNOLOGY"),
        ({"bank": [[], "1MB:nvsim-stt"]}, "must be a text, or a list of texts, of banks"),
        ({"bank": [3, "1MB:nvsim-stt"]}, "must be a text, or a list of texts, of banks"),
        ({"bank": {"low": "1MB", "high": "2MB"}}, "write SIZE:TECHNOLOGY"),
        ({"spm": ["1MB", "2MB"]}, "spm: banks make up the scratchpad"),
        ({"technology": ["nvsim-stt"]}, "technology: banks make up the scratchpad"),
    ],
)
def test_bad_banks_give_one_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=r"^space s\.toml: ") as caught:
        of_banks(**fields)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_scheduler_must_know_them() -> None:
    options: dict[str, Any] = {"networks": (Network(name="alexnet"),), "objectives": ("time_s",)}
    with pytest.raises(InputError, match="scheduler residency: knows no banks"):
        Setup(space=of_banks(), **options)
    plain = space_of({"space": {"spm": ["1MB", "2MB"]}}, "s")
    with pytest.raises(InputError, match="scheduler banks: the machine has no banks"):
        Setup(space=plain, scheduler="banks", **options)


def other_banks(problem: Problem, seed: int) -> Problem:
    """The same operations with the banks, and the bandwidth, of another seed."""
    other = banked(seed, ports=True, duplex=True, **TINY).machine
    machine = with_these(problem.machine, other.banks)
    return replace(problem, machine=replace(machine, dram_bytes_per_s=other.dram_bytes_per_s))


def uniform(problem: Problem) -> Problem:
    return replace(problem, machine=replace(problem.machine, banks=()))


@pytest.mark.parametrize("ports", [False, True])
def test_bounds_are_below_the_best_of_all_schedules(ports: bool) -> None:
    """Cuts of the machine itself, of one without banks, and of one with other banks."""
    compared = tight = 0
    for seed in range(share(8)):
        problem = banked(seed, ports=ports, duplex=True, **TINY)
        pool = CutPool()
        for each in (problem, uniform(problem), other_banks(problem, seed + 1)):
            certificate = solve(each, "lp-bound", Request(threads=1)).certificate
            if certificate is not None:  # its operations fit there
                pool.add(Cut.of(each, certificate))
        for name in ("time", "traffic", "energy"):
            objective = objective_named(name, problem.machine)
            best = optimum(problem, objective)
            assert best is not None
            for cuts in (None, pool):
                least = least_of(problem, cuts)
                joules = Fraction(least.spend(problem.machine).energy_j)
                found = {
                    "time": least.cycles,
                    "traffic": least.traffic_bytes,
                    "energy": joules * (1 - Fraction(1, 2**50)),  # was rounded to a double
                }
                assert found[name] <= best.value, (seed, name)
                compared += 1
                tight += found[name] >= best.value * Fraction(99, 100)
    assert compared == 6 * share(8)
    assert tight > share(8)


@pytest.mark.parametrize("seed", some(range(8)))
def test_duals_of_banks_make_a_cut_of_all_their_pages(seed: int) -> None:
    problem = banked(seed, ports=True, max_operations=8, max_tensors=5)
    first, *others = problem.machine.banks
    larger = replace(first, spm_bytes=first.spm_bytes + problem.machine.page_bytes - 1)
    problem = replace(problem, machine=with_these(problem.machine, (larger, *others)))
    certificate = solve(problem, "lp-bound", Request(threads=1)).certificate
    assert certificate is not None
    assert certificate.banks
    cut = Cut.of(problem, certificate, Fraction(10**9))  # what is proved of banks is not used
    assert not cut.certificate.banks
    assert cut.home.spm_bytes == problem.machine.spm_pages * problem.machine.page_bytes
    plain = replace(problem, machine=cut.home)
    cycles = relax_timeline(plain).compute_cycles
    assert float(cut.least_cycles(cycles, cut.home)) <= fluid_cycles(plain) * (1 + SLACK)
    assert cut.least_cycles(cycles, problem.machine) == cut.least_cycles(cycles, cut.home)


def test_the_front_of_energy_and_area(tmp_path: Path) -> None:
    setup = Setup(
        networks=(Network(name="alexnet", batch=1),),
        space=of_banks(),
        objectives=("energy_j", "area_mm2"),
        scheduler="banks",
        schedule_for="energy",
        tolerance=1e-2,
    )
    url = journal(tmp_path, "t")
    every = search(url, setup, name="all", sampler="brute-force", trials=3, prune=False)
    assert tally(trial_records(every))["solved"] == 3
    found = {trial.params["bank"]: trial.values for trial in front(every)}
    pruned = search(url, setup, name="pruned", sampler="brute-force", trials=3)
    assert {trial.params["bank"]: trial.values for trial in front(pruned)} == found
    assert {"1MB:nvsim-sram", TEXTS[1]} <= set(found)
    energies = [trial.values[0] for trial in front(every)]
    areas = [trial.values[1] for trial in front(every)]
    assert energies == sorted(energies)
    assert areas == sorted(areas, reverse=True)
    for trial in front(every):
        (network,) = trial.user_attrs["networks"].values()
        assert network["verified"]
        assert network["bound"] <= network["value"]
