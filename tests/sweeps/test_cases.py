"""Networks of a sweep."""

from dataclasses import replace

from spmopt.hardware.machines import load_machine
from spmopt.sweeps.cases import Network, SweepCase
from spmopt.sweeps.rows import about


def test_rows_call_a_network_by_its_title() -> None:
    named = Network(name="bert-tiny")
    assert named.label == "bert-tiny"
    titled = replace(named, title="BERT")
    assert titled.label == "BERT"
    assert titled.batch_size == named.batch_size == 32
    machine = load_machine("rtx2080ti")
    sweep_case = SweepCase(network=titled, machine=machine, capacities=(2**20,))
    assert about(sweep_case, 2**20, "lru")["network"] == "BERT"
