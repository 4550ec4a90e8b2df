"""Lowering: a problem of a network on a machine, with sizes, cycles and the order fixed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.inputs import Workload, already_lowered, load
from spmopt.api.inputs import machine as machine_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from spmopt.core.costs import CostsOf
    from spmopt.core.graph import Graph
    from spmopt.core.machine import Machine
    from spmopt.core.problem import Problem
    from spmopt.core.table import Ints


@check
def lower(
    workload: Workload | Graph | Problem,
    machine: Machine | None = None,
    *,
    mapper: str | None = None,
    fold: bool = True,
    costs: str | Path | CostsOf | None = None,
    order: str = "listed",
    time_limit: float = 60.0,
    callbacks: Callbacks = QUIET,
) -> Problem:
    """Lower a workload for a machine: fix sizes, cycles and the order of operations.

    Parameters
    ----------
    workload
        Result of :func:`load`, or a graph or problem of one's own. A problem is given another
        machine only as far as its cycles stay the same.
    machine
        Result of :func:`spmopt.machine`; default: rtx2080ti, or that of the problem.
    mapper
        Mapper. choose (default): many tilings of each product, among which optimizers choose;
        tiled: the first of these alone, GEMM tiles and loop order with the least DRAM traffic,
        buffers included, as policies run; panel: keep
        the smallest operand, in panels if large; weights: keep the weight; ideal: each operand is
        fetched once, no buffers; choose-interleaved, tiled-interleaved: in training, both gradients
        of a layer are one operation.
    fold
        With mapper choose or tiled: fold constants, batch normalization into the product before it,
        and point-wise results into the bytes of an operand that dies.
    costs
        Cycles, bytes and energy of operations from your simulator: CSV or JSON file, or folder of
        ZigZag results; in Python also a callable. Missing operations take the built-in model.
        Others are cut into fusion tiles where the column tiles has costs of these.
    order
        Order of the operations: listed (of the network), depth-first, or searched.
    time_limit
        Time limit of a search for an order, in seconds.
    callbacks
        Receive progress and warnings.

    Returns
    -------
    Problem
        Ready for :func:`solve` and :func:`compare`.

    Raises
    ------
    InputError
        An unknown operator, lowering or order, or a machine that changes a problem's cycles.
    """
    if not isinstance(workload, Workload):
        workload = load(workload)
    if workload.problem is not None:
        for option in give_of_mapper(mapper, fold):
            raise already_lowered(option, workload.source)
        found = _on(workload.problem, machine, workload.source)
        found = _at_costs(found, costs, callbacks)
        return _relist(found, order, time_limit, callbacks)
    # A lowered problem needs no graph: the operators load only where there is one to lower.
    from spmopt.graph.preparation import with_name
    from spmopt.graph.tileable import lower_listed

    assert workload.graph is not None
    callbacks.progress("mapper", None)
    on = machine_of() if machine is None else machine
    mapper = with_name(mapper, fold=fold)
    found = lower_listed(workload.graph, on, mapper=mapper)
    found = found.label(name=workload.title, source=workload.source, listed=found.listed)
    found = _at_costs(found, costs, callbacks)
    return _relist(found, order, time_limit, callbacks, workload.graph)


def _relist(
    problem: Problem,
    name: str,
    time_limit: float,
    callbacks: Callbacks,
    graph: Graph | None = None,
) -> Problem:
    """Return ``problem`` in an order by its name; in fusion tiles too, where its graph is given."""
    if name == "listed":
        return problem
    from spmopt.core.scheduler import Request
    from spmopt.solving.named_orders import order_named

    callbacks.progress(f"ordering operations ({name})", None)
    order = order_named(problem, name, Request(time_limit_s=time_limit))
    if order is None:
        # The search may find nothing better: the user should know that no order changed.
        callbacks.note(f"order {name}: that is the layer-by-layer plan")
        return problem
    return relist(problem, name, order, graph)


def relist(problem: Problem, name: str, order: Ints, graph: Graph | None = None) -> Problem:
    """Return ``problem`` in an ``order`` called so; in tiles too, where its graph is given."""
    from spmopt.core.fusion.tile_costs import ListedAtCosts
    from spmopt.core.order import reorder
    from spmopt.graph.relisting import in_order
    from spmopt.graph.tileable import tileable

    listed: Callable[[Machine], object] | None = None
    if graph is not None and problem.listed is not None:
        graph = in_order(graph, problem.mapper, problem.machine, order.tolist())
        # Lazy: building the tileable graph takes long, and only fusion needs it.
        mapped = partial(tileable, graph, mapper=problem.mapper)
        own = problem.listed
        listed = replace(own, listed=mapped) if isinstance(own, ListedAtCosts) else mapped
    named = f"{problem.name}, {name} order"
    return replace(reorder(problem, order), name=named, listed=listed)


def _at_costs(
    problem: Problem, costs: str | Path | CostsOf | None, callbacks: Callbacks
) -> Problem:
    if costs is None:
        return problem
    from spmopt.io.costs import at_costs

    return at_costs(problem, costs, callbacks.warn)


def give_of_mapper(mapper: str | None, fold: bool) -> list[str]:
    """Return which options of a mapper are not the default."""
    return ["mapper"] * (mapper is not None) + ["fold"] * (not fold)


def _assign_banks(machine: Machine) -> tuple[object, ...]:
    """Return the properties that determine the cycles of accesses to banks of one technology."""
    memory = machine.memory
    return () if memory is None else (memory.technology, memory.banks, machine.spm_bytes)


def _on(problem: Problem, machine: Machine | None, source: str) -> Problem:
    """Return a lowered problem on another machine, if its cycles are the same there."""
    if machine is None:
        return problem
    changed = cycles_change(problem.machine, machine)
    if changed is not None:
        raise already_lowered(changed[0], source, changed[1])
    from spmopt.core.mappings import on_channel

    return on_channel(problem, machine)


def cycles_change(before: Machine, machine: Machine) -> tuple[str, str] | None:
    """Return the option in which machines differ so that cycles change, and why; None if none."""
    # Exactly the settings that compute cycles depend on; any other may change freely.
    fixed: dict[str, tuple[object, object]] = {
        "array": (before.array, machine.array),
        "clock": (before.clock_hz, machine.clock_hz),
        "throughput": (before.operations_per_s, machine.operations_per_s),
        "types": (before.types, machine.types),
        "blocks": (before.blocks, machine.blocks),
        "vector": (before.vector, machine.vector),
        "costs": (before.costs, machine.costs),
    }
    memory, why = before.memory, ", its cycles are fixed"
    if memory is not None and memory.banks is not None:
        why = f", its cycles are those of {memory.banks} banks of {memory.technology}"
        fixed["technology"] = (_assign_banks(before), _assign_banks(machine))
    elif machine.memory is not None and machine.memory.banks is not None:
        fixed["banks"] = (None, machine.memory.banks)
    for key, (old, new) in fixed.items():
        if old != new:
            grouped = key in ("array", "blocks", "types", "vector", "costs")
            option = f"settings {key}" if grouped else key
            return option, why
    return None
