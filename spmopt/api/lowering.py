"""Lowering: an instance of a network on a machine, with sizes, cycles and the order fixed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.inputs import Workload, already_lowered, load
from spmopt.api.inputs import machine as machine_of
from spmopt.core.errors import ArgumentError

if TYPE_CHECKING:
    from spmopt.core.graph import Graph
    from spmopt.core.instance import Instance
    from spmopt.core.machine import Machine
    from spmopt.core.table import Ints


@checked
def lower(
    workload: Workload | Graph | Instance,
    machine: Machine | None = None,
    *,
    lowering: str | None = None,
    fold: bool = True,
    costs: str | Path | None = None,
    order: str = "listed",
    callbacks: Callbacks = QUIET,
) -> Instance:
    """Lower a workload for a machine: fix sizes, cycles and the order of operations.

    Parameters
    ----------
    workload
        What :func:`load` returns, or a graph or instance of one's own. An instance is given
        another machine only as far as its cycles stay what they are.
    machine
        What :func:`spmopt.machine` returns; default: rtx2080ti, or that of the instance.
    lowering
        Mapper. tiled (default): GEMM tiles and loop order with the least DRAM traffic, buffers
        included; panel: keep the smallest operand, in panels if large; weights: keep the weight;
        ideal: each operand is fetched once, no buffers.
    fold
        With lowering tiled: fold constants, and batch normalization into the product before it.
    costs
        Cycles, bytes and energy of operations from your simulator: CSV or JSON file, or folder of
        ZigZag results. Missing operations take the built-in model; there is no fusion.
    order
        Order of the operations: listed (of the network), depth-first, or searched.
    callbacks
        Receive progress and warnings.

    Returns
    -------
    Instance
        Ready for :func:`solve` and :func:`compare`.

    Raises
    ------
    InputError
        An unknown operator, lowering or order, or a machine that changes an instance's cycles.
    """
    from spmopt.graph.listing import lower_listed
    from spmopt.graph.preparation import named

    if not isinstance(workload, Workload):
        workload = load(workload)
    if workload.instance is not None:
        for option in given_of_lowering(lowering, fold):
            raise already_lowered(option, workload.source)
        found = _on(workload.instance, machine, workload.source)
        found = found if costs is None else _at_costs(found, Path(costs), callbacks)
        return _relisted(found, order, callbacks)
    assert workload.graph is not None
    callbacks.progress("lowering", None)
    on = machine_of() if machine is None else machine
    lowering = named(lowering, fold=fold)
    found = lower_listed(workload.graph, on, lowering=lowering)
    found = found.labeled(name=workload.title, source=workload.source, listed=found.listed)
    found = found if costs is None else _at_costs(found, Path(costs), callbacks)
    return _relisted(found, order, callbacks, workload.graph)


def _relisted(
    instance: Instance, name: str, callbacks: Callbacks, graph: Graph | None = None
) -> Instance:
    """Return ``instance`` in an order by its name; in pieces too, where its graph is given."""
    from spmopt.solving.named_orders import LISTED, order_named

    if name != LISTED:
        callbacks.progress(f"ordering operations ({name})", None)
    order = order_named(instance, name)
    if order is None:
        if name != LISTED:
            callbacks.note(f"order {name}: that is the list as given")
        return instance
    return relisted(instance, name, order, graph)


def relisted(instance: Instance, name: str, order: Ints, graph: Graph | None = None) -> Instance:
    """Return ``instance`` in an ``order`` called so; in pieces too, where its graph is given."""
    from spmopt.core.order import reordered
    from spmopt.graph.listing import listing
    from spmopt.graph.relisting import in_order

    listed = None
    if graph is not None and instance.listed is not None:
        graph = in_order(graph, instance.lowering, order.tolist())
        listed = partial(listing, graph, lowering=instance.lowering)
    named = f"{instance.name}, {name} order"
    return replace(reordered(instance, order), name=named, listed=listed)


def _at_costs(instance: Instance, path: Path, callbacks: Callbacks) -> Instance:
    """Return ``instance`` at the costs of a file, and say what that lacks."""
    from spmopt.core.costs import with_costs
    from spmopt.io.costs import read_costs

    costs = read_costs(path, callbacks.warn)
    if instance.machine.banks:
        raise ArgumentError(
            "costs", ": which bank an operation uses is in no such file; leave banks out"
        )
    found, lacking = with_costs(instance, costs, path.name)
    if lacking:
        operations = found.operations
        all_cycles = sum(operation.modes[0].compute_cycles for operation in operations)
        theirs = sum(o.modes[0].compute_cycles for o in operations if o.name in {*lacking})
        share = 100 * theirs / max(all_cycles, 1)
        shown = ", ".join(lacking[:3]) + ", ..." * (len(lacking) > 3)
        callbacks.warn(
            f"costs {path}: {len(lacking)} of {len(operations)} operations are not in it and take "
            f"those of the built-in model, {share:.3g} % of all cycles: {shown}"
        )
    return found


def given_of_lowering(lowering: str | None, fold: bool) -> list[str]:
    """Return which options of a lowering are not the default."""
    return ["lowering"] * (lowering is not None) + ["fold"] * (not fold)


def _banked(machine: Machine) -> tuple[object, ...]:
    """Return what the cycles of accesses to banks of one technology follow."""
    memory = machine.memory
    return () if memory is None else (memory.technology, memory.banks, machine.spm_bytes)


def _on(instance: Instance, machine: Machine | None, source: str) -> Instance:
    """Return a lowered instance on another machine, if its cycles are the same there."""
    if machine is None:
        return instance
    before = instance.machine
    fixed: dict[str, tuple[object, object]] = {
        "array": (before.array, machine.array),
        "throughput": (before.operations_per_s, machine.operations_per_s),
        "clock": (before.clock_hz, machine.clock_hz),
        "types": (before.types, machine.types),
        "costs": (before.costs, machine.costs),
    }
    memory, why = before.memory, ", its cycles are fixed"
    if memory is not None and memory.banks is not None:
        why = f", its cycles are those of {memory.banks} banks of {memory.technology}"
        fixed["technology"] = (_banked(before), _banked(machine))
    elif machine.memory is not None and machine.memory.banks is not None:
        fixed["banks"] = (None, machine.memory.banks)
    for key, (old, new) in fixed.items():
        if old != new:
            option = f"settings {key}" if key in ("array", "types", "costs") else key
            raise already_lowered(option, source, why)
    return replace(instance, machine=machine)
