"""Tensors that bypass the scratchpad: optima, bounds and schedules of small problems."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.assemble import assemble
from spmopt.core.bypass import without_bypass
from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC, Objective, energy_objective
from spmopt.core.operation import REQUIRED_RESIDENT, Operand
from spmopt.core.problem import Problem
from spmopt.core.schedule import Residency, ResidencyPlan, Stores
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.hardware.settings import from_settings, to_settings
from spmopt.io.files import decode_problem, encode_problem
from spmopt.solving import solve
from spmopt.verifier import verify
from tests.brute_force import optimum
from tests.checked import need
from tests.strategies import random_problem
from tests.thorough import some

KINDS = (("weight",), ("activation",), ("weight", "activation"))


def barred(problem: Problem, kinds: tuple[str, ...]) -> Problem:
    """``problem`` on a machine whose scratchpad these kinds bypass, so that none is resident."""
    operations = tuple(
        replace(
            operation,
            mappings=tuple(
                replace(
                    mapping,
                    operands=tuple(
                        Operand(fetches=operand.fetches)
                        if problem.tensors[tensor].kind in kinds
                        else operand
                        for tensor, operand in zip(operation.tensors, mapping.operands, strict=True)
                    ),
                )
                for mapping in operation.mappings
            ),
        )
        for operation in problem.operations
    )
    machine = replace(problem.machine, bypass=kinds)
    return replace(problem, machine=machine, operations=operations)


def case(seed: int, *, mappings: int = 1, setup: bool = True) -> Problem:
    """A small problem, kinds by the seed."""
    small = random_problem(
        seed, max_tensors=3, setup=setup, max_mappings=mappings, max_tensor_pages=2
    )
    return barred(small, KINDS[seed % 3])


def objectives(problem: Problem) -> tuple[Objective, ...]:
    return MAKESPAN, TRAFFIC, energy_objective(problem.machine)


@pytest.mark.parametrize("seed", some(range(9), 3))
def test_optimum_is_that_of_the_problem_without_them(seed: int) -> None:
    problem = case(seed)
    remainder = without_bypass(problem)
    free = replace(problem, machine=replace(problem.machine, bypass=()))
    for objective in objectives(problem):
        found = need(optimum(problem, objective))
        rest = need(optimum(remainder.problem, objective))
        any_residency = need(optimum(free, objective))
        assert found.value == rest.value + remainder.streams.value(objective)
        assert found.value >= any_residency.value
        report = verify(problem, assemble(problem, rest.residency_plan))
        assert report.legal
        assert need(report.totals).value(objective) == found.value


def example() -> Problem:
    """Both kinds in one operation, more than once."""
    for seed in some(range(0, 300, 3)):
        problem = case(seed)
        if problem.bypassing and len(problem.operations) > 2:
            line = [t for op in problem.operations for t in op.reads if t in problem.bypassing]
            if len(line) > len({*line}) and optimum(problem, TRAFFIC) is not None:
                return problem
    raise AssertionError


def test_verifier_refuses_a_schedule_that_holds_one() -> None:
    problem = example()
    free = replace(problem, machine=replace(problem.machine, bypass=(), spm_bytes=4096))
    held = next(
        t for t in problem.bypassing if any(t in operation.reads for operation in free.operations)
    )
    step = next(i for i, operation in enumerate(free.operations) if held in operation.reads)
    start = need(solve(free, "stream", Request()).schedule)
    size = problem.tensors[held].size_bytes
    residency = Residency.of_rows([(held, step, step + 1, size)])
    residency_plan = ResidencyPlan(steps=start.steps, residency=residency, stores=Stores.empty())
    schedule = assemble(free, residency_plan)
    assert verify(free, schedule).legal
    wide = replace(problem, machine=replace(problem.machine, spm_bytes=4096))
    rules = {violation.rule for violation in verify(wide, schedule).violations}
    assert rules == {"R11"}


def test_what_is_refused() -> None:
    problem = example()
    with pytest.raises(InputError, match=r"bypass: not modeled with a duplex channel"):
        replace(problem.machine, duplex=True)
    with pytest.raises(InputError, match="scheduler joint: knows no bypass; use"):
        solve(problem, "joint", Request(objective=REPLAY))
    with pytest.raises(InputError, match="scheduler fusion: knows no bypass"):
        solve(problem, "fusion", Request())
    step = next(i for i, op in enumerate(problem.operations) if {*op.tensors} & problem.bypassing)
    operation = problem.operations[step]
    firm = replace(operation.mappings[0], operands=(REQUIRED_RESIDENT,) * len(operation.tensors))
    changed = [*problem.operations]
    changed[step] = replace(operation, mappings=(firm,))
    with pytest.raises(InputError, match="must be in the scratchpad, which the machine's bypass"):
        replace(problem, operations=tuple(changed))


def test_lowered_for_the_machine() -> None:
    network = load_network("mobilenetv2", batch=1, image=32)
    free = load_machine("small-npu", {"spm": "64KiB"})
    machine = load_machine("small-npu", {"spm": "64KiB", "bypass": "weight"})
    assert machine.bypass == ("weight",)
    assert from_settings(to_settings(machine), "again") == machine
    assert decode_problem(encode_problem(lower(network, machine))).bypassing
    for mapper in ("tiled", "panel", "ideal"):
        problem, other = (lower(network, each, mapper=mapper) for each in (machine, free))
        names = {problem.tensors[t].kind for t in problem.bypassing}
        assert names == {"weight"}
        read = sum(op.mappings[0].spm_read_bytes for op in problem.operations)
        assert read < sum(op.mappings[0].spm_read_bytes for op in other.operations)
    result = solve(problem, "residency", Request(tolerance=0.01))
    assert result.status == "optimal"
    weights = sum(problem.tensors[t].size_bytes for t in problem.bypassing)
    assert need(result.totals).dram_in_bytes >= weights
    everything = load_machine("small-npu", {"bypass": "weight, activation,input"})
    with pytest.raises(InputError, match="both factors and the result bypass the scratchpad"):
        lower(network, everything)
    with pytest.raises(InputError, match="no kind called 'weigth'; did you mean weight"):
        load_machine("small-npu", {"bypass": "weigth"})


def test_file_of_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    own = 'spm = "1MiB"\nbandwidth = "1GB/s"\nthroughput = "1GFLOP/s"\nclock = "1MHz"\n'
    path.write_text(own + 'bypass = ["weight", "weight_gradient"]\n')
    assert load_machine(str(path)).bypass == ("weight", "weight_gradient")
    path.write_text(own + "bypass = [1]\n")
    with pytest.raises(InputError, match=r"bypass: must be a list of texts, as \['weight'\]"):
        load_machine(str(path))
