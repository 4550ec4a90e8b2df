"""Headings: names and conditions of results and machines, and notes on them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine, VectorUnit
from spmopt.core.mappings import unfit
from spmopt.core.objective import REPLAY, Objective, option_name
from spmopt.core.order import depth_first, same_order
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status, Totals
from spmopt.core.schedule import Schedule
from spmopt.hardware.scratchpad import bases_of
from spmopt.metrics import in_unit, tensor_bytes
from spmopt.reporting.quantities import capacities, capacity, percent, si

ASYNC_TIME = "async time"
"""Time of the replay, without barriers between steps (``--timing async``)."""
_ROUNDED = 1e-6
"""Relative: bounds no farther apart than this are equal but for rounding."""


def heading(problem: Problem, result: Result) -> str:
    """Return problem, machine, lowering and objective in one line."""
    listed, inner = len(problem.operations), ""
    if result.fused is not None:
        from spmopt.core.fusion.tileable_graph import source_graph

        listed, fusion_plan = len(source_graph(result.fused).operations), result.fused.fusion_plan
        cut = [each for each in fusion_plan if each.count > 1]
        tiled = sum(each.end - each.begin for each in cut)
        if cut:
            micro_batches = sum((each.end - each.begin) * each.count for each in cut)
            of_them = "" if tiled == listed else f", {tiled:,} of them"
            inner = f"{of_them} in {micro_batches:,} fusion tiles"
    several = "s" * (listed != 1)
    size = f"{listed:,} operation{several}{inner}, {si(tensor_bytes(problem), 'B')} of tensors"
    return (
        f"{problem.name} ({size}) on {describe(problem.machine)}; "
        f"mapper {problem.mapper}; objective {name_of(result.objective)}"
    )


def speak(objective: Objective) -> str:
    """Return the name of an objective as the command line has it."""
    return option_name(objective.name)


def name_of(objective: Objective) -> str:
    """Return the name of an objective in tables: time without barriers is ``async time``."""
    return ASYNC_TIME if objective == REPLAY else speak(objective)


def describe(machine: Machine) -> str:
    """Return the name and rates of ``machine``."""
    parts = [
        f"SPM {_scratchpad(machine)}",
        _bandwidth(machine),
        si(machine.operations_per_s, "FLOP/s"),
        *rates_by_type(machine),
        si(machine.clock_hz, "Hz"),
    ]
    if machine.array is not None:
        array = machine.array
        parts.append(f"{array.rows} x {array.columns} array ({array.dataflow})")
    if (own := machine.blocks) is not None:
        parts.append(f"blocks of {own.rows} x {own.columns} x {own.depth}")
    if vector := vector_unit(machine):
        parts.append(f"vector unit {vector}")
    if machine.costs:
        parts.append(f"costs of {machine.costs}")
    if machine.dma_setup_cycles:
        parts.append(f"{machine.dma_setup_cycles} cycles per DMA command")
    return f"{machine.name}: {', '.join(parts)}"


def rates_by_type(machine: Machine) -> list[str]:
    """Return the rates of element types that have their own."""
    rated = ((each.element_type, each.operations_per_s) for each in machine.types)
    return [f"{name} {si(rate, 'OP/s')}" for name, rate in rated if rate is not None]


def vector_unit(machine: Machine) -> str:
    """Return settings of the vector unit off their default, and its lanes beside an array."""
    unit, rate = machine.vector or VectorUnit(), machine.vector_operations_per_s
    parts = []
    if unit.rate is not None:
        parts.append(si(rate, "OP/s"))
    elif unit.lanes is not None or machine.array is not None:
        assumed = " (assumed: columns of the array)" if unit.lanes is None else ""
        parts.append(f"{rate // machine.clock_hz} lanes{assumed}")
    if unit.special != VectorUnit().special:
        parts.append(f"special functions at {unit.special} operations")
    return ", ".join(parts)


def technology_name(machine: Machine) -> str:
    """Return the technology of the scratchpad or of its banks; empty where none is named."""
    if machine.banks:
        return " + ".join(bank_names(machine))
    if machine.memory is None:
        return ""
    count = machine.memory.banks
    banks = "" if count is None else " in 1 bank" if count == 1 else f" in {count} banks"
    return f"{machine.memory.technology}{banks}"


def bank_names(machine: Machine) -> tuple[str, ...]:
    """Return size and technology of each bank, in the order of addresses."""
    return tuple(
        f"{size} {bank.technology}".strip()
        for size, bank in zip(
            capacities(bank.spm_bytes for bank in machine.banks), machine.banks, strict=True
        )
    )


def standing(result: Result) -> str:
    """Return the status in a word; "bound" where that is all that was found or looked for."""
    bare = result.totals is None and result.bound is not None
    return "bound" if bare and result.status is Status.UNKNOWN else str(result.status)


def optimal_of_class(result: Result) -> str:
    """Return of which class a schedule is optimal that is not known to be so of all; or nothing."""
    known = result.class_bound
    if known is None or not result.is_best_of_class or result.status is Status.OPTIMAL:
        return ""
    source = "" if known.certified else f", by the bound of {known.proved_by}"
    return f"optimal for {known.holds_for}{source}"


def remarks(result: Result) -> list[str]:
    """Return the notes of the scheduler, and its distance from the bound of its class."""
    lines = list(result.notes)
    known = result.class_bound
    if known is None or result.value is None or result.class_gap is None:
        return lines
    # A certificate that is higher by more than the tolerance says more, of more schedules.
    slack = Fraction(_ROUNDED + (result.tolerance or 0.0))
    if result.bound is None or Fraction(known.value) >= result.bound * (1 - slack):
        source = "certified bound" if known.certified else f"bound of {known.proved_by}"
        least = f"the least for {known.holds_for} ({source})"
        over = percent(result.class_gap, by="above", of=least, up=True).removeprefix("+")
        lines.append(f"at most {over}" if known.value < result.value else least)
    return lines


def barrier_notes(result: Result) -> list[str]:
    """Return a note on the times of steps of a schedule that is valued by the replay."""
    if not result.objective.replayed:
        return []
    made = "The schedule was valued by async time, which has no barriers between steps; "
    return [f"{made}times and stalls here include the barriers."]


def account_heading(problem: Problem, result: Result) -> list[str]:
    """Return the heading of an account of steps, with a blank line below."""
    return [
        f"{heading(problem, result)}; scheduler {result.scheduler}",
        *barrier_notes(result),
        "",
    ]


def problem_notes(problem: Problem, results: Sequence[Result]) -> list[str]:
    """Note products at a default rate, and schedules in another order or of another problem."""
    schedulers: dict[str, list[str]] = {}
    listed_so = None
    for result in results:
        if result.instead is not None:
            mapper = result.instead.mapper
            # A comparison with others gives it a bound that holds for them as well.
            of = "a bound of both graphs" if result.fusion_bound is not None else "its bound"
            bound = f"; gap against {of}" if result.bound is not None else ""
            note = f"another graph, by mapper {mapper}{bound}"
            schedulers.setdefault(note, []).append(result.scheduler)
            continue
        if result.order is None:
            continue
        listed_so = depth_first(problem) if listed_so is None else listed_so
        # Worked out only where some order differs: it takes a walk over the graph.
        name = "depth-first" if same_order(result.order, listed_so) else "its own"
        against = "; gap against the bound of that order" if result.bound is not None else ""
        schedulers.setdefault(f"order: {name}{against}", []).append(result.scheduler)
    orders = [f"{', '.join(names)}: {note}" for note, names in schedulers.items()]
    return [*_default_rates(problem), *orders]


def _default_rates(problem: Problem) -> list[str]:
    """Note the types of products that a machine with figures by type has none for."""
    known = sorted(each.element_type for each in problem.machine.types)
    # Unsigned integers have the figures of signed ones.
    other = {each.element_type.removeprefix("u") for each in problem.operations} - {"", *known}
    rate, types = si(problem.machine.operations_per_s, "OP/s"), " and ".join(sorted(other))
    note = f"{types} at the default rate, {rate}: the machine has figures for"
    return [f"{note} {' and '.join(known)} alone"] if known and other else []


def transfer_counts(totals: Totals | None) -> list[str]:
    """Return the counts of DMA commands and descriptors, in words, where they were counted."""
    if totals is None or totals.dma_commands is None or totals.dma_descriptors is None:
        return []
    return [f"{totals.dma_commands:,}, in {totals.dma_descriptors:,} DMA descriptors"]


def require_schedule(where: str, problem: Problem, result: Result) -> Schedule:
    """Return the schedule of ``result``.

    Raises
    ------
    InputError
        There is none; the line says why, and names a remedy.
    """
    if result.schedule is not None:
        return result.schedule
    again = "name a result that has one, as 'spmopt solve --scheduler residency -o' writes it"
    if result.status is Status.INFEASIBLE:
        reasons = [str(unfit(problem) or ""), *result.notes]
        why = next(filter(None, reasons), "no reason is given")
        held = f" (infeasible: {why}); name a result that has one, as of a larger scratchpad"
    elif result.status is Status.FAILED:
        held = f" (its scheduler failed: {'; '.join(result.notes)}); {again}"
    elif result.bound is not None:
        least = si(*in_unit(result.objective, problem.machine, result.bound))
        name = speak(result.objective)
        held = f", but a bound on {name}, {least}, which 'spmopt verify' checks; {again}"
    else:
        held = ": none was found within the limits; solve it again with a longer --time-limit"
    raise InputError(f"{where}: holds no schedule{held}")


def _scratchpad(machine: Machine) -> str:
    """Return its size and technology, or those of each bank."""
    size = capacity(machine.spm_bytes)
    memory = machine.memory
    if machine.banks:
        return f"{size} in banks ({'; '.join((technology_name(machine), *_bases(machine)))})"
    if memory is None:
        return size
    return f"{size} of {technology_name(machine)} ({memory.source}; {memory.basis})"


def _bases(machine: Machine) -> tuple[str, ...]:
    """Return the basis of the figures of banks; of each technology where they differ."""
    found = dict.fromkeys(bases_of(machine))
    # Said once where all banks are alike.
    alike = dict.fromkeys(str(basis) for _, basis in found)
    return tuple(alike) if len(alike) < 2 else tuple(f"{name}: {basis}" for name, basis in found)


def _bandwidth(machine: Machine) -> str:
    """Return the rate of the channel, and of the DRAM where the banks are slower."""
    shown = si(machine.dram_bytes_per_s, "B/s") + (" each way" if machine.duplex else "")
    ratios = [f"{each.kind} at {float(each.ratio):g}" for each in machine.compression]
    if ratios:
        shown += f" (compressed in DRAM: {', '.join(ratios)} of its bytes)"
    memory = machine.memory
    if memory is None or memory.dram_bytes_per_s == machine.dram_bytes_per_s:
        return shown
    return f"{shown} (by its banks; DRAM {si(memory.dram_bytes_per_s, 'B/s')})"
