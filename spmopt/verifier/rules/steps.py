"""R1, R6, R9 to R11: capacity, time, order and queue of the steps, and totals."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from spmopt.core.result import Totals
from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.verifier.arrays import BEFORE, ScheduleArrays
from spmopt.verifier.descriptors import descriptors
from spmopt.verifier.durations import Durations
from spmopt.verifier.violation import Violation, find


def pages_occupied(view: ScheduleArrays) -> Ints:
    """Return (n,) pages in use per step: ``sum_t ceil(r_t(i) / g) + ceil(b_m / g)``."""
    table = view.schedule.residency
    pages = view.pages(table.size_bytes)
    change = np.zeros(view.timeline.steps + 1, np.int64)
    np.add.at(change, table.begin, pages)
    np.subtract.at(change, table.end, pages)
    return np.cumsum(change)[:-1] + view.pages(view.timeline.scratch_bytes)


def rule_r1(view: ScheduleArrays) -> list[Violation]:
    """R1, capacity: occupied pages <= ``floor(C / g)`` in every step."""
    used, available = pages_occupied(view), view.problem.machine.spm_pages
    steps = np.arange(used.size)
    return find(
        "R1",
        used > available,
        steps,
        None,
        lambda step: f"{used[step]} pages are in use, the SPM has {available}",
    )


def rule_r11(view: ScheduleArrays) -> list[Violation]:
    """R11, bypass: no byte of a tensor that bypasses the scratchpad is ever resident."""
    table, problem = view.schedule.residency, view.problem
    kinds = [tensor.kind in problem.machine.bypass for tensor in problem.tensors]
    barred = np.array(kinds, bool)[table.tensor]
    return find(
        "R11",
        barred,
        table.begin,
        table.tensor,
        lambda row: (
            f"{view.name(int(table.tensor[row]))} is in the scratchpad, which tensors of its kind "
            "bypass on this machine"
        ),
    )


def rule_r9(view: ScheduleArrays) -> list[Violation]:
    """R9, order: predecessors run in earlier steps."""
    operations = view.problem.operations
    order = view.timeline.order
    position = np.empty_like(order)
    position[order] = np.arange(order.size)
    counts = [len(operation.predecessors) for operation in operations]
    before = np.array([p for operation in operations for p in operation.predecessors], np.int64)
    after = np.repeat(np.arange(len(operations)), counts)
    return find(
        "R9",
        position[before] >= position[after],
        position[after],
        None,
        lambda row: (
            f"{operations[after[row]].name} runs before its predecessor "
            f"{operations[before[row]].name} (step {position[before[row]]})"
        ),
    )


def rule_r10(view: ScheduleArrays) -> list[Violation]:
    """R10, queue: first the loads of resident operands, last the stores of resident results."""
    commands, phase = view.schedule.commands, view.command_phase
    late = np.zeros(len(commands), bool)
    late[1:] = (phase[1:] < phase[:-1]) & (commands.step[1:] == commands.step[:-1])
    first = "a load of a required-resident operand must come first"
    last = "a store of a required-resident result must come last"
    return find(
        "R10",
        late,
        commands.step,
        commands.tensor,
        lambda row: (
            f"command {row}, of {view.name(int(commands.tensor[row]))}: "
            f"{first if phase[row] == BEFORE else last}"
        ),
    )


def totals(view: ScheduleArrays, time: Durations, replay_cycles: int) -> Totals:
    """Return the exact totals of the schedule; ``replay_cycles`` comes from the replay."""
    commands, line = view.schedule.commands, view.timeline
    size_bytes, named = view.command_bytes, view.named_bytes
    inward = (commands.kind == Command.LOAD) | (commands.kind == Command.STREAM_IN)
    moves = view.schedule.moves
    read, write = ((), ()) if time.banks is None else time.banks.totals()
    return Totals(
        makespan_cycles=_sum(time.step),
        replay_cycles=replay_cycles,
        dram_in_bytes=_sum(size_bytes[inward]),
        dram_out_bytes=_sum(size_bytes[~inward]),
        spm_read_bytes=_sum(line.spm_read_bytes),
        spm_write_bytes=_sum(line.spm_write_bytes),
        macs=_sum(line.macs),
        own_picojoules=_sum(line.own_picojoules),
        compute_cycles=_sum(line.compute_cycles),
        dma_cycles=_sum(time.command),
        peak_spm_bytes=int(pages_occupied(view).max()) * view.page_bytes,
        dma_commands=len(commands),
        dma_descriptors=_sum(descriptors(view.page_bytes, commands, view.schedule.placements)),
        unpacked_bytes=_sum((named - size_bytes)[inward]),
        packed_bytes=_sum((named - size_bytes)[~inward]),
        moved_bytes=_sum(moves.end - moves.begin),
        bank_read_bytes=read,
        bank_write_bytes=write,
    )


def rule_r6(exact: Totals, claimed: Totals | None) -> list[Violation]:
    """R6, time: claimed totals equal the recomputed ``exact``; one violation per figure.

    A figure that is not claimed, as in files older than it, is not compared.
    """
    if claimed is None:
        return []
    return [
        Violation(
            rule="R6",
            step=None,
            tensor=None,
            message=f"{field.name} is claimed to be {claim}, but is {true}",
        )
        for field in fields(exact)
        if (claim := getattr(claimed, field.name)) is not None
        and claim != (true := getattr(exact, field.name))
    ]


def _sum(values: Ints) -> int:
    """Exact also where 64 bits would overflow."""
    return sum(values.tolist())
