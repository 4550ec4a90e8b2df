"""Capacities sorted by problem, by bisection, against lowering every one of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spmopt.core.order import depth_first
from spmopt.core.result import Status
from spmopt.frontends.networks import load_network
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.io.files import write_problem
from spmopt.sweeps.cases import Network, SweepCase, order_of, sections
from spmopt.sweeps.rows import row_of
from spmopt.sweeps.work import Finding
from tests.tiny import Op, tiny

SIZES = tuple(range(2**16, 2**20, 5 * 2**12))


def silent(message: str) -> None:
    raise AssertionError(message)


@pytest.mark.parametrize("training", [False, True], ids=["forward", "training"])
@pytest.mark.parametrize("mapper", ["tiled", "panel", "weights", "ideal"])
def test_sections_are_those_of_lowering_every_capacity(mapper: str, training: bool) -> None:
    machine = load_machine("rtx2080ti")
    network = Network(name="bert-tiny", training=training, batch=2, mapper=mapper)
    found = sections(SweepCase(network=network, machine=machine, capacities=SIZES[::-1]), silent)
    assert [size for section in found for size in section.capacities] == list(SIZES)
    graph = load_network("bert-tiny", batch=2, training=training)
    before = None
    for section in found:
        for size in section.capacities:
            own = lower(graph, replace(machine, spm_bytes=size), mapper=mapper)
            assert section.problem(size) == own
        assert before != own.operations
        before = own.operations
        assert section.infeasible == ()
    assert (len(found) > 2) == (mapper != "ideal")


def test_too_small_for_what_is_required_resident(tmp_path: Path) -> None:
    problem = tiny({"w": (10, "in")}, [Op(reads="w", required_resident="w", cycles=3)], spm=40)
    write_problem(tmp_path / "i.json", problem)
    network = Network(name=str(tmp_path / "i.json"), mapper=problem.mapper)
    case = SweepCase(network=network, machine=problem.machine, capacities=(8, 12, 4, 16))
    (section,) = sections(case, silent)
    assert section.capacities == (4, 8, 12, 16)
    assert section.infeasible == (4, 8)
    assert section.usable_bytes(15) == 12
    assert section.problem(16).operations == problem.operations


def test_orders_have_names() -> None:
    case = SweepCase(
        network=Network(name="googlenet", training=True, batch=1),
        machine=load_machine("rtx2080ti"),
        capacities=(24_000_000,),
    )
    (section,) = sections(case, silent)
    problem = section.problem(24_000_000)
    walk = depth_first(problem)
    assert order_of(np.arange(9)) is None
    assert section.order_name(None) == "listed"
    assert section.order_name(order_of(walk)) == "depth-first"
    assert section.order_name(order_of(walk[::-1])) == "other"
    names = [operation.name for operation in section.problem(24_000_000, order_of(walk)).operations]
    assert names == [problem.operations[index].name for index in walk]


def test_rows_call_a_network_by_its_title() -> None:
    named = Network(name="bert-tiny")
    assert named.label == "bert-tiny"
    titled = replace(named, title="BERT")
    assert titled.label == "BERT"
    assert titled.known_batch == named.known_batch == 32
    machine = load_machine("rtx2080ti")
    sweep_case = SweepCase(network=titled, machine=machine, capacities=(2**20,))
    finding = Finding(scheduler="lru", status=Status.UNKNOWN)
    assert row_of(sweep_case, 2**20, finding, "time")["network"] == "BERT"
