"""The order in which operations are listed anew: legal, the same results, and worth it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import tileable_graph_of
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.order import dependences, depth_first, reorder
from spmopt.core.params import OrderParams, SolveParams
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.io.files import write_problem
from spmopt.schedulers.registry import SchedulerEntry, find
from spmopt.solving import named_orders
from spmopt.solving.checked_calls import RESIDENCY, CheckedCalls
from spmopt.solving.list_scheduling import ListScheduling
from spmopt.solving.named_orders import ORDERS, order_named
from spmopt.solving.runs import run_alone
from tests.checked import need
from tests.solving.fakes import exact
from tests.solving.test_orders import branches
from tests.strategies import random_problem
from tests.thorough import nightly, share, some
from tests.tiny import Op, tiny

NETWORKS: tuple[tuple[str, bool, Mapping[str, int]], ...] = (
    ("llama3", False, {"layers": 2, "sequence": 8, "past": 8, "hidden": 128, "inner": 256}),
    ("gnmt", True, {"steps": 2, "layers": 2, "hidden": 64, "vocabulary": 500}),
    ("squeezenet", False, {}),
    ("bert-tiny", True, {}),
    ("resnet18", True, {}),
)


def read_from(problem: Problem) -> dict[str, list[tuple[str, int]]]:
    """Return, of each operation by name, the operations whose results it reads."""
    last: dict[int, str] = {}
    found = {}
    for operation in problem.operations:
        found[operation.name] = [(last.get(t, "before"), t) for t in operation.reads]
        last.update(dict.fromkeys(operation.writes, operation.name))
    found["the end"] = [(last.get(t, "before"), t) for t in range(len(problem.tensors))]
    return found


def move_few(monkeypatch: pytest.MonkeyPatch, operations: int) -> None:
    """Schedule so many operations for moves.

    In the request, not in its class: large lists are scheduled in processes, to which it is sent.
    """

    def search(problem: Problem, name: str, request: Request) -> Ints | None:
        params = SolveParams(orders=OrderParams(moved_operations=operations))
        return order_named(problem, name, replace(request, params=params))

    monkeypatch.setattr(named_orders, "order_named", search)


def policy_value(problem: Problem) -> float:
    """Return what a policy takes."""
    return float(exact(run_alone(problem, find("belady-size:granularity=page"), Request())))


def test_what_was_produced_is_used_next() -> None:
    for freed, recent in ((True, False), (False, True)):
        order = ListScheduling(branches()).order(8, freed=freed, recent=recent)
        assert order.tolist() in ([0, 2, 1, 3], [1, 3, 0, 2])
    found = need(order_named(branches(), "searched"))
    assert policy_value(reorder(branches(), found)) < policy_value(branches())


def test_orders_are_compared_in_one_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """To choose mappings for each of them took longer than the limit for the best."""
    listed, asked = branches().operations, list[Problem]()
    slow = [replace(op.mappings[0], compute_cycles=9) for op in listed]
    pairs = zip(listed, slow, strict=True)
    several = [replace(op, mappings=(*op.mappings, each)) for op, each in pairs]
    monkeypatch.setattr(named_orders, "search_orders", lambda one, *_, **__: asked.append(one))
    order_named(replace(branches(), operations=tuple(several)), "searched")
    assert [each.operations for each in asked] == [listed]


def test_a_search_out_of_time_schedules_the_best_of_each_kind_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And every run ends when the search must, whatever its own limit."""
    asked = list[tuple[str, Request]]()

    def called(self: CheckedCalls, entry: SchedulerEntry) -> Result:
        asked.append((entry.name, self.request))
        return call(self, entry)

    call = CheckedCalls.call
    monkeypatch.setattr(CheckedCalls, "call", called)
    order_named(branches(), "searched", Request(time_limit_s=1e-6))
    assert len([name for name, _ in asked if name == RESIDENCY]) <= 2
    assert all(request.remaining_s() == 0 for _, request in asked)


def test_a_weight_on_chip_serves_all_that_wait_for_it() -> None:
    """Of two weights and two inputs each, listed by input, there is room for one."""
    tensors = {"w": (8, "in"), "v": (8, "in"), "x": (1, "in"), "y": (1, "in")}
    results = dict.fromkeys(("wx", "vx", "wy", "vy"), (1, "keep"))
    listed = [Op(reads=f"{w} {x}", writes=f"{w}{x}") for x in "xy" for w in "wv"]
    order = ListScheduling(tiny(tensors | results, listed, spm=12)).order(12)
    assert order.tolist() in ([0, 2, 1, 3], [0, 2, 3, 1])


@pytest.mark.parametrize("seed", some(range(60)))
def test_orders_keep_what_is_read(seed: int) -> None:
    problem = random_problem(seed, max_operations=12, max_tensors=8)
    for freed in (False, True):
        for recent in (False, True):
            order = ListScheduling(problem).order(8, freed=freed, recent=recent)
            place = np.argsort(order)
            for index, before in enumerate(dependences(problem)):
                assert all(place[earlier] < place[index] for earlier in before)
            assert read_from(reorder(problem, order)) == read_from(problem)


@pytest.mark.parametrize(("network", "training", "parameters"), some(NETWORKS, 5))
@pytest.mark.parametrize(
    "order",
    [pytest.param(each, marks=[nightly] if each == "searched" else []) for each in ORDERS[1:]],
)
def test_networks_compute_the_same(
    network: str,
    training: bool,
    parameters: Mapping[str, int],
    order: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Some moves are scheduled, not all.
    move_few(monkeypatch, share(100, 4))
    workload = spmopt.load(network, training=training, batch=2, parameters=parameters or None)
    machine = spmopt.machine("rtx2080ti", spm="256kB")
    listed, found = (spmopt.lower(workload, machine, order=each) for each in ("listed", order))
    assert read_from(found) == read_from(listed)
    assert found.tensors == listed.tensors
    whole = tileable_graph_of(found)  # refuses what is not the problem's own
    assert [each.name for each in whole.operations] == [each.name for each in found.operations]
    if found.operations != listed.operations:
        assert found.name.endswith(f"{order} order")


def test_a_worse_listing_is_found_back() -> None:
    """Depth first, GNMT loads the weights of all layers in each time step."""
    sizes = {"steps": 3, "layers": 4, "hidden": 64, "vocabulary": 500}
    workload = spmopt.load("gnmt", training=True, batch=4, parameters=sizes)
    listed = spmopt.lower(workload, spmopt.machine("rtx2080ti", spm="512kB"))
    worse = reorder(listed, depth_first(listed))
    least, most = policy_value(listed), policy_value(worse)
    assert most > 1.1 * least
    found = ListScheduling(worse).order(4 * listed.machine.spm_bytes, freed=True, recent=True)
    assert policy_value(reorder(worse, found)) < 1.02 * least


def test_stored_problem_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "chains.json"
    write_problem(path, branches())
    found = spmopt.lower(spmopt.load(path), order="searched")
    assert [each.name for each in found.operations] == ["op0", "op2", "op1", "op3"]
    assert found.listed is None


def test_one_operation_has_one_order() -> None:
    one = tiny({"a": (8, "in"), "b": (4, "keep")}, [Op(reads="a", writes="b")], spm=4)
    assert all(order_named(one, name) is None for name in ORDERS)


def test_unknown_order() -> None:
    with pytest.raises(InputError, match="no order called 'deepest'; choose one of"):
        order_named(branches(), "deepest")


def test_an_update_through_a_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weight is updated in place as the vector that a view makes of it; two names are equal."""
    graph = Graph(
        name="update",
        values=(
            Value(name="x", shape=(8, 64), kind=TensorKind.INPUT),
            Value(name="w", shape=(64, 64), kind=TensorKind.WEIGHT),
            Value(name="flat", shape=(4096,), kind=TensorKind.WEIGHT),
            Value(name="y", shape=(8, 64)),
            Value(name="g", shape=(4096,), kind=TensorKind.WEIGHT_GRADIENT),
            Value(name="z", shape=(8, 64), keep=True),
            Value(name="a", shape=(8, 64)),
            Value(name="b", shape=(8, 64), keep=True),
        ),
        nodes=tuple(
            Node(name=name, operator=operator, inputs=inputs, outputs=(output,), attributes=more)
            for name, operator, inputs, output, more in (
                ("relu1", "Relu", (0,), 6, {}),
                ("product", "MatMul", (0, 1), 3, {}),
                ("view", "Reshape", (1,), 2, {"shape": (4096,)}),
                ("update", "SGD", (2, 4), 2, {}),
                ("relu", "Relu", (6,), 7, {}),
                ("relu", "Relu", (3,), 5, {}),
            )
        ),
    )
    move_few(monkeypatch, 20)
    machine = spmopt.machine("small-npu", spm="16KB")
    listed = spmopt.lower(graph, machine)
    for order in ORDERS:
        found = spmopt.lower(graph, machine, order=order)
        assert read_from(found) == read_from(listed)
        tileable_graph_of(found)
