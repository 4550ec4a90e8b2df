"""What a table of results shows, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.modes import unfit
from spmopt.core.objective import REPLAY, Objective, spoken_name
from spmopt.core.order import depth_first, same_order
from spmopt.core.result import UNFINISHED, Result, Status, Totals
from spmopt.core.schedule import Schedule
from spmopt.hardware.scratchpad import bases_of
from spmopt.metrics import in_unit, metrics, tensor_bytes
from spmopt.report.conflict import conflict_rows
from spmopt.report.quantities import percent, seconds, si
from spmopt.report.verdict import verdict
from spmopt.schedulers.registry import Kind, find

COLUMNS = (
    "scheduler",
    "time",
    "traffic",
    "energy",
    "vs best",
    "gap to bound",
    "status",
    "seconds",
)
_NONE = "-"


@dataclass(frozen=True, kw_only=True)
class View:
    """A heading, one row of texts a result, and remarks below.

    ``columns`` are :data:`COLUMNS`, with the time that was minimised: of the replay if that was.
    ``dispensable`` names columns in the order in which a narrow terminal does without them.
    """

    heading: str
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]
    dispensable: tuple[str, ...] = ()
    columns: tuple[str, ...] = COLUMNS


def compare_view(
    instance: Instance, results: Sequence[Result], not_run: Sequence[str] = ()
) -> View:
    """Return the comparison of ``results``, all of one instance and objective.

    ``not_run`` names schedulers that were asked for, but that an interrupt left out.
    """
    values = [result.value for result in results if result.value is not None]
    best = min(values, default=None)
    rows = []
    for result in results:
        row = _figures(instance.machine, result)
        over = _NONE
        if result.value is not None and best is not None:
            over = (
                "best"
                if result.value == best
                else percent(float(result.value / best - 1), fill=True)
            )
        rows.append((*row, over, *_quality(result)))
    rows += [(name, *[_NONE] * 5, "not run", _NONE) for name in not_run]
    infeasible = any(result.status is Status.INFEASIBLE for result in results)
    minimised = spoken(results[0].objective)
    time = "replay" if results[0].objective == REPLAY else "time"
    others = tuple(name for name in ("energy", "traffic", time) if name != minimised)
    return View(
        heading=heading(instance, results[0]),
        columns=tuple(time if name == "time" else name for name in COLUMNS),
        rows=tuple(rows),
        dispensable=("seconds", *others, "vs best", "status"),
        remarks=(
            *_notes(results),
            *(conflict_rows(unfit(instance)) if infeasible else ()),
            *order_notes(instance, results),
            *verdict(instance.machine, results),
        ),
    )


def _notes(results: Sequence[Result]) -> list[str]:
    """What optimisers remark, why there is no schedule, and which bounds are unfinished."""
    speakers: dict[str, list[str]] = {}
    for result in results:
        name = result.scheduler
        speaks = result.status is Status.INFEASIBLE or find(name).kind is Kind.FORMULATION
        for note in remarks(result):
            if speaks or note in UNFINISHED:
                speakers.setdefault(note, []).append(name)
    if len(results) > 1 and all(result.status is Status.INFEASIBLE for result in results):
        return [f"infeasible: {note}" for note in speakers]
    bounded = [result.scheduler for result in results if result.bound is not None]
    return [
        f"{note[0].upper()}{note[1:]}."
        if note in UNFINISHED and names == bounded
        else f"{', '.join(names)}: {note}"
        for note, names in speakers.items()
    ]


def order_notes(instance: Instance, results: Sequence[Result]) -> list[str]:
    """Which schedules run the operations in another order than the instance's."""
    speakers: dict[str, list[str]] = {}
    listed_so = None
    for result in results:
        order = result.order
        if order is None:
            continue
        listed_so = depth_first(instance) if listed_so is None else listed_so
        name = "depth-first" if same_order(order, listed_so) else "its own"
        against = "; gap against the bound of that order" if result.bound is not None else ""
        speakers.setdefault(f"order: {name}{against}", []).append(result.scheduler)
    return [f"{', '.join(names)}: {note}" for note, names in speakers.items()]


def heading(instance: Instance, result: Result) -> str:
    """Instance, machine, lowering and objective in one line."""
    machine = instance.machine
    size = f"{len(instance.operations)} operations, {si(tensor_bytes(instance), 'B')} of tensors"
    return (
        f"{instance.name} ({size}) on {describe(machine)}; "
        f"lowering {instance.lowering}; objective {spoken(result.objective)}"
    )


def barrier_notes(result: Result) -> list[str]:
    """What an account of steps says of a schedule that was made for the replay."""
    if result.objective != REPLAY:
        return []
    made = "The schedule was made for the replay, which has no barriers between steps; "
    return [f"{made}all times and stalls here are those with barriers."]


def spoken(objective: Objective) -> str:
    """Name of an objective as the command line has it."""
    return spoken_name(objective.name)


def describe(machine: Machine) -> str:
    """Name and rates of ``machine``."""
    parts = [
        f"SPM {_scratchpad(machine)}",
        _bandwidth(machine),
        si(machine.operations_per_s, "FLOP/s"),
        si(machine.clock_hz, "Hz"),
    ]
    if machine.array is not None:
        array = machine.array
        parts.append(f"{array.rows} x {array.columns} array ({array.dataflow})")
    if machine.dma_setup_cycles:
        parts.append(f"{machine.dma_setup_cycles} cycles a DMA command")
    return f"{machine.name}: {', '.join(parts)}"


def _scratchpad(machine: Machine) -> str:
    """Its size and technology, or those of each bank."""
    size = si(machine.spm_bytes, "B")
    memory = machine.memory
    if machine.banks:
        return f"{size} in banks ({'; '.join((technology_name(machine), *_bases(machine)))})"
    if memory is None:
        return size
    return f"{size} of {technology_name(machine)} ({memory.source}; {memory.basis})"


def _bases(machine: Machine) -> tuple[str, ...]:
    """What the figures of banks rest on; of each technology where they differ."""
    found = dict.fromkeys(bases_of(machine))
    alike = dict.fromkeys(str(basis) for _, basis in found)
    return tuple(alike) if len(alike) < 2 else tuple(f"{name}: {basis}" for name, basis in found)


def technology_name(machine: Machine) -> str:
    """Technology of the scratchpad, or sizes and those of its banks; empty where none is named."""
    if machine.banks:
        named = (f"{si(bank.spm_bytes, 'B')} {bank.technology}".strip() for bank in machine.banks)
        return " + ".join(named)
    if machine.memory is None:
        return ""
    count = machine.memory.banks
    banks = "" if count is None else " in 1 bank" if count == 1 else f" in {count} banks"
    return f"{machine.memory.technology}{banks}"


def _bandwidth(machine: Machine) -> str:
    """Of the channel, and of the DRAM where the banks are slower."""
    shown = si(machine.dram_bytes_per_s, "B/s") + (" each way" if machine.duplex else "")
    memory = machine.memory
    if memory is None or memory.dram_bytes_per_s == machine.dram_bytes_per_s:
        return shown
    return f"{shown} (by its banks; DRAM {si(memory.dram_bytes_per_s, 'B/s')})"


def remarks(result: Result) -> list[str]:
    """Notes of the scheduler, and what it knows of its own class."""
    lines = list(result.notes)
    known = result.class_bound
    if known is not None and result.value is not None and known.value > 0:
        over = percent(max(0.0, float(result.value) / known.value - 1)).removeprefix("+")
        least = f"the least for {known.holds_for} (bound of {known.proved_by})"
        lines.append(f"at most {over} above {least}" if known.value < result.value else least)
    return lines


def transfer_counts(totals: Totals | None) -> list[str]:
    """How many DMA commands and descriptors, in words, where they were counted."""
    if totals is None or totals.dma_commands is None or totals.dma_descriptors is None:
        return []
    return [f"{totals.dma_commands:,}, in {totals.dma_descriptors:,} DMA descriptors"]


def standing(result: Result) -> str:
    """Status in a word; "bound" where that is all that was found or looked for."""
    bare = result.totals is None and result.bound is not None
    return "bound" if bare and result.status is Status.UNKNOWN else str(result.status)


def require_schedule(where: str, instance: Instance, result: Result) -> Schedule:
    """The schedule of ``result``.

    Raises
    ------
    InputError
        There is none; the line says what ``where`` holds in place of it, and what to do.
    """
    if result.schedule is not None:
        return result.schedule
    again = "name a result that has one, as 'spmopt solve --scheduler page -o' writes it"
    if result.status is Status.INFEASIBLE:
        reasons = [str(unfit(instance) or ""), *result.notes]
        why = next(filter(None, reasons), "no reason is given")
        held = f" (infeasible: {why}); name a result that has one, as of a larger scratchpad"
    elif result.bound is not None:
        least = si(*in_unit(result.objective, instance.machine, result.bound))
        name = spoken(result.objective)
        held = f", but a bound on {name}, {least}, which 'spmopt verify' checks; {again}"
    else:
        held = ": none was found within the limits; solve it again with a longer --time-limit"
    raise InputError(f"{where}: holds no schedule{held}")


def _figures(machine: Machine, result: Result) -> tuple[str, ...]:
    if result.totals is None:
        if result.bound is None or result.status is Status.INFEASIBLE:
            return (result.scheduler, _NONE, _NONE, _NONE)
        value = f"≥ {si(*in_unit(result.objective, machine, result.bound), fill=True)}"
        columns = {"makespan": 1, "traffic": 2, "energy": 3}
        row = [result.scheduler, _NONE, _NONE, _NONE]
        row[columns.get(result.objective.name, 1)] = value
        return tuple(row)
    figures = metrics(machine, result.totals)
    replayed = result.objective == REPLAY
    return (
        result.scheduler,
        si(figures.replay_s if replayed else figures.time_s, "s", fill=True),
        si(result.totals.traffic_bytes, "B", fill=True),
        si(figures.energy_j, "J", fill=True),
    )


def _quality(result: Result) -> tuple[str, ...]:
    gap = _NONE if result.gap is None else percent(result.gap, fill=True)
    return (gap, standing(result), seconds(result.solve_s))
