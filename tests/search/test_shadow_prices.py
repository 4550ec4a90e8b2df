"""What more of a machine is worth, by dual values of its schedules."""

from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.hardware.machines import load_machine
from spmopt.search.candidate import Candidate
from spmopt.search.evaluation import result_of
from spmopt.search.setup import Setup
from spmopt.search.shadow_prices import resource_duals_of
from spmopt.search.study import schedules_of
from spmopt.search.trials import candidate_of, front, network_named, record_of, result_for
from spmopt.sweeps.cases import Network
from tests.search.study import search, small_setup, small_space


def test_worth(tmp_path: Path) -> None:
    setup = small_setup(small_space(cost={"gbps": 1.0, "spm_mb": 1.0}), scheduler="residency")
    study = search(str(tmp_path / "s.db"), setup, sampler="brute-force", trials=9, prune=False)
    trial = record_of(min(front(study), key=lambda each: each.values[1]))
    network = network_named(setup, None)
    duals = resource_duals_of(
        result_for(setup, trial, network, schedules_of(study)), candidate_of(setup, trial), network
    )
    assert duals is not None
    assert duals.unit == "s"
    assert duals.per_pe is None  # the cycles of a stored problem are fixed
    # The bound may be no higher than a line through a machine with more of it.
    wider = int(trial.parameters["bandwidth"]) + 750 * 10**6
    more = next(
        each
        for each in study.get_trials()
        if each.params == {**trial.parameters, "bandwidth": wider}
    )
    assert duals.bound - 0.75 * duals.per_gbps <= more.values[0]


@pytest.mark.parametrize("machine", ["small-npu", "rtx2080ti"])
def test_duals_of_processing_elements_hold_on_a_larger_engine(machine: str) -> None:
    space = replace(small_space(space={"spm": ["1MB", "2MB"]}), machine=load_machine(machine))
    network = Network(name="squeezenet", batch=1)
    setup = Setup(networks=(network,), space=space, objectives=("time_s",), scheduler="belady")
    candidate = space.candidate({"spm": 2_000_000})
    stored = result_of(setup, candidate, network)
    duals = resource_duals_of(stored, candidate, network)
    assert duals is not None
    assert duals.per_pe is not None
    array = candidate.machine.array
    if array is None:
        more = {"throughput": candidate.machine.operations_per_s * 129 // 128}
        units = candidate.machine.operations_per_s / 128 / (2 * candidate.machine.clock_hz)
    else:
        more, units = {"array.rows": array.rows + 1}, array.columns
    larger = Candidate.of(candidate.machine, more)
    value = result_of(setup, larger, network).result.value
    assert value is not None
    time_s = float(value) / larger.machine.clock_hz
    # What the same dual values prove of the larger engine is below every schedule there.
    assert duals.bound - duals.per_pe * units <= time_s * (1 + 1e-9)
    assert 0 < duals.per_pe * units < duals.bound / 10
