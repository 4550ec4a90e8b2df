"""Networks of a sweep."""

from dataclasses import replace

import pytest

from spmopt.api.sweep_cases import axes_of, cases_of, networks_of
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


@pytest.mark.parametrize(("page", "pages"), [(None, [512, 512, 4096]), ("1KiB", [1024] * 3)])
def test_pages_of_a_point_are_those_of_its_own_capacity(page: str | None, pages: list[int]) -> None:
    """Whatever other capacities are swept."""
    axes = {"spm": "64KiB,96KiB,2MiB"} | ({} if page is None else {"page": page})
    (network,) = networks_of(
        ["bert-tiny"],
        training=False,
        optimizer=None,
        dtype=None,
        parameters=None,
        assume_pointwise=False,
        operators=None,
    )
    found = cases_of(network, "small-npu", axes_of(axes))
    assert [each.machine.page_bytes for each in found for _ in each.capacities] == pages
    assert [size for each in found for size in each.capacities] == [65536, 98304, 2097152]
