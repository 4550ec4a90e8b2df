"""Tensors that bypass the scratchpad: optima, bounds and schedules of small instances."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.fluid import enclosed
from spmopt.assemble import assemble
from spmopt.core.bypass import without_bypass
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC, Objective, energy_objective
from spmopt.core.operation import STATIONARY, Operand
from spmopt.core.schedule import Plan, Residency, Stores
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.hardware.settings import from_settings, to_settings
from spmopt.io.files import decode_instance, encode_instance
from spmopt.solving import compare, solve
from spmopt.verifier import bound, verify
from tests.brute_force import optimum
from tests.strategies import random_instance

KINDS = (("weight",), ("activation",), ("weight", "activation"))
SCHEDULERS = ("stream", "belady", "belady-size:granularity=page", "msa", "page", "whole")


def barred(instance: Instance, kinds: tuple[str, ...]) -> Instance:
    """``instance`` on a machine whose scratchpad these kinds bypass, so that none is stationary."""
    operations = tuple(
        replace(
            operation,
            modes=tuple(
                replace(
                    mode,
                    operands=tuple(
                        Operand(passes=operand.passes)
                        if instance.tensors[tensor].kind in kinds
                        else operand
                        for tensor, operand in zip(operation.tensors, mode.operands, strict=True)
                    ),
                )
                for mode in operation.modes
            ),
        )
        for operation in instance.operations
    )
    machine = replace(instance.machine, bypass=kinds)
    return replace(instance, machine=machine, operations=operations)


def case(seed: int, *, modes: int = 1, setup: bool = True) -> Instance:
    """A small instance, kinds by the seed."""
    small = random_instance(seed, max_tensors=3, setup=setup, max_modes=modes, max_tensor_pages=2)
    return barred(small, KINDS[seed % 3])


def objectives(instance: Instance) -> tuple[Objective, ...]:
    return MAKESPAN, TRAFFIC, energy_objective(instance.machine)


@pytest.mark.parametrize("seed", range(9))
def test_optimum_is_that_of_the_instance_without_them(seed: int) -> None:
    instance = case(seed)
    remainder = without_bypass(instance)
    free = replace(instance, machine=replace(instance.machine, bypass=()))
    for objective in objectives(instance):
        found = optimum(instance, objective)
        rest = optimum(remainder.instance, objective)
        any_residency = optimum(free, objective)
        assert found is not None
        assert rest is not None
        assert any_residency is not None
        assert found.value == rest.value + remainder.streams.value(objective)
        assert found.value >= any_residency.value
        report = verify(instance, assemble(instance, rest.plan))
        assert report.legal
        assert report.totals is not None
        assert report.totals.value(objective) == found.value


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.sampled_from((1, 2)))
def test_schedules_and_bounds(seed: int, modes: int) -> None:
    instance = case(seed, modes=modes)
    objective = objectives(instance)[seed % 2]
    best = optimum(instance, objective)
    assert best is not None
    request = Request(objective=objective, threads=1)
    for result in compare(instance, [*SCHEDULERS, "fluid"], request):
        assert result.bound is None or result.bound <= best.value
        assert result.value is None or result.value >= best.value
        if result.schedule is not None:
            held = {*result.schedule.residency.tensor.tolist()}
            assert not held & instance.bypassing
        if modes == 1 and objective is TRAFFIC and result.scheduler == "page":
            assert result.value == best.value
    instance = replace(instance, machine=replace(instance.machine, dma_setup_cycles=0))
    certificate, value = enclosed(instance, request)  # of the relaxation, which has no commands
    if certificate is not None and value is not None:
        assert bound(instance, certificate) <= value <= (best.value if modes == 1 else value)


def example() -> Instance:
    """Both kinds in one operation, more than once."""
    for seed in range(0, 300, 3):
        instance = case(seed)
        if instance.bypassing and len(instance.operations) > 2:
            line = [t for op in instance.operations for t in op.reads if t in instance.bypassing]
            if len(line) > len({*line}) and optimum(instance, TRAFFIC) is not None:
                return instance
    raise AssertionError


def test_verifier_refuses_a_schedule_that_holds_one() -> None:
    instance = example()
    free = replace(instance, machine=replace(instance.machine, bypass=(), spm_bytes=4096))
    held = next(
        t for t in instance.bypassing if any(t in operation.reads for operation in free.operations)
    )
    step = next(i for i, operation in enumerate(free.operations) if held in operation.reads)
    start = solve(free, "stream", Request()).schedule
    assert start is not None
    size = instance.tensors[held].size_bytes
    residency = Residency.of_rows([(held, step, step + 1, size)])
    plan = Plan(steps=start.steps, residency=residency, stores=Stores.empty())
    schedule = assemble(free, plan)
    assert verify(free, schedule).legal
    wide = replace(instance, machine=replace(instance.machine, spm_bytes=4096))
    rules = {violation.rule for violation in verify(wide, schedule).violations}
    assert rules == {"R11"}


def test_what_is_refused() -> None:
    instance = example()
    with pytest.raises(InputError, match=r"bypass: not modeled with a duplex channel"):
        replace(instance.machine, duplex=True)
    with pytest.raises(InputError, match="scheduler joint: knows no bypass; use"):
        solve(instance, "joint", Request(objective=REPLAY))
    with pytest.raises(InputError, match="scheduler pieces: knows no bypass"):
        solve(instance, "pieces", Request())
    step = next(i for i, op in enumerate(instance.operations) if {*op.tensors} & instance.bypassing)
    operation = instance.operations[step]
    firm = replace(operation.modes[0], operands=(STATIONARY,) * len(operation.tensors))
    changed = [*instance.operations]
    changed[step] = replace(operation, modes=(firm,))
    with pytest.raises(InputError, match="must be in the scratchpad, which the machine's bypass"):
        replace(instance, operations=tuple(changed))


def test_lowered_for_the_machine() -> None:
    network = load_network("mobilenetv2", batch=1, image=32)
    free = load_machine("small-npu", {"spm": "64KiB"})
    machine = load_machine("small-npu", {"spm": "64KiB", "bypass": "weight"})
    assert machine.bypass == ("weight",)
    assert from_settings(to_settings(machine), "again") == machine
    assert decode_instance(encode_instance(lower(network, machine))).bypassing
    for lowering in ("tiled", "panel", "ideal"):
        instance, other = (lower(network, each, lowering=lowering) for each in (machine, free))
        names = {instance.tensors[t].kind for t in instance.bypassing}
        assert names == {"weight"}
        read = sum(op.modes[0].spm_read_bytes for op in instance.operations)
        assert read < sum(op.modes[0].spm_read_bytes for op in other.operations)
        (result,) = compare(instance, ["page"], Request(tolerance=0.01))
        assert result.status == "optimal"
        assert result.totals is not None
        weights = sum(instance.tensors[t].size_bytes for t in instance.bypassing)
        assert result.totals.dram_in_bytes >= weights
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
    with pytest.raises(InputError, match=r"bypass: must be a list of kinds, as \['weight'\]"):
        load_machine(str(path))
