"""R6: time, traffic and energy are recomputed; a claim must equal them."""

from __future__ import annotations

from dataclasses import fields

from spmopt.core.result import Totals
from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.descriptors import descriptors
from spmopt.verifier.durations import Durations
from spmopt.verifier.rules.capacity import pages_occupied
from spmopt.verifier.violation import Violation


def totals(view: ScheduleArrays, time: Durations, replay_cycles: int) -> Totals:
    """Return the exact totals of the schedule; ``replay_cycles`` comes from the replay."""
    commands, line = view.schedule.commands, view.timeline
    size_bytes = (commands.end - commands.begin) * commands.fetches
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
