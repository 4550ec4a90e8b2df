"""A picture as plain data, for pages and programs: columns, not rows."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction

import numpy as np

from spmopt.analysis import Cause
from spmopt.analysis.fused_groups import FusedGroupSpan
from spmopt.analysis.stalls import bytes_moved
from spmopt.core.schedule import Command
from spmopt.reporting.analysis import Columns, detail, unit_of
from spmopt.reporting.fused_groups import group_labels
from spmopt.reporting.headings import bank_names, barrier_notes, problem_notes, remarks
from spmopt.reporting.occupancy import KINDS, kind_numbers
from spmopt.reporting.phases import PHASES, phases
from spmopt.reporting.plain import Json, column, plain
from spmopt.reporting.quantities import capacity_unit
from spmopt.reporting.schedule_view.residencies import Came, Left
from spmopt.reporting.schedule_view.view import (
    LANES_SAID,
    TIMINGS_SAID,
    ScheduleView,
    conditions,
)
from spmopt.verifier.durations import per_step

# Figures that a page shows at first.
_MAIN = ("makespan", "traffic", "energy", "gap", "fusion_gap", "status", "compute_busy", "spm_peak")
_UNPRICED = (
    "no lane of shadow prices: with several banks a page has a shadow price in each of "
    "them, none of the whole"
)


def schedule_record(picture: ScheduleView) -> Json:
    """Return all of ``picture`` in plain JSON types; times are cycles, sizes bytes.

    ``dual`` (per step and MB) and ``shadow_prices`` are in ``shadow_prices.unit``. Numbers of
    kinds, causes and commands are indices of ``kinds`` and ``causes``, and a
    :class:`spmopt.core.schedule.Command`;
    ``stall_by_cause`` has a row for each cause.
    """
    problem, machine, result = picture.problem, picture.problem.machine, picture.result
    main = (*_MAIN, "replay") if result.objective.replayed else _MAIN
    analysis = picture.analysis
    return {
        "title": f"{problem.name}, {result.scheduler}",
        "subtitle": conditions([picture]),
        "clock_hz": machine.clock_hz,
        "spm_bytes": machine.spm_bytes,
        "spm_unit": capacity_unit([machine.spm_bytes]),
        "page_bytes": machine.page_bytes,
        "spm_pages": machine.spm_pages,
        "cycles": picture.times.cycles,
        "timing": picture.times.timing,
        "said": f"Across: {TIMINGS_SAID[picture.times.timing]}. Lanes: "
        f"{LANES_SAID[picture.times.timing]}.",
        "banks": [
            {"name": name, "pages": pages}
            for name, pages in zip(bank_names(machine), machine.bank_pages, strict=False)
        ],
        "figures": [{**asdict(each), "is_main": each.key in main} for each in picture.figures],
        "remarks": _remarks(picture),
        "kinds": list(KINDS),
        "causes": [cause.words for cause in Cause],
        "phases": list(PHASES),
        "came": [came.words for came in Came],
        "left": [left.words for left in Left],
        "steps": _steps(picture),
        "fused_groups": [_fused_group(picture, each) for each in picture.fused_groups],
        "tensors": _tensors(picture),
        "residencies": plain(picture.residencies),
        "commands": _commands(picture),
        "tables": {per: _table(detail(analysis, per)) for per in ("layer", "tensor", "operation")},
        "shadow_prices": _duals(picture),
    }


def _remarks(picture: ScheduleView) -> list[str]:
    notes = barrier_notes(picture.result) if picture.times.timing == "step" else []
    lines = [*remarks(picture.result), *problem_notes(picture.problem, [picture.result]), *notes]
    return [*lines, _UNPRICED] if picture.problem.machine.banks else lines


def _table(columns: Columns) -> Json:
    heads = [
        column(name, None if str in set(map(type, values)) else unit_of(name))
        for name, values in columns.items()
    ]
    return {"columns": heads, "rows": [list(row) for row in zip(*columns.values(), strict=True)]}


def _steps(picture: ScheduleView) -> Json:
    times, line, dual = picture.times, picture.view.timeline, picture.dual
    operations = [picture.problem.operations[index] for index in line.order.tolist()]
    of = picture.analysis.layers
    return {
        "name": [op.name for op in operations],
        "layer": [of.names[layer] for layer in of.layer.tolist()],
        "pass": ["backward" if back else "forward" for back in of.backward.tolist()],
        "phase": phases(picture.analysis).tolist(),
        "kind": [op.kind for op in operations],
        "operation": line.order.tolist(),
        "start": times.start.tolist(),
        "cycles": times.duration.tolist(),
        "compute_start": times.compute_start.tolist(),
        "compute_cycles": line.compute_cycles.tolist(),
        "stall_cycles": picture.stall.tolist(),
        "cause": times.cause.tolist(),
        "stall_by_cause": times.stall_by_cause.tolist(),
        "dual": None if dual is None else plain(dual),
    }


def _fused_group(picture: ScheduleView, span: FusedGroupSpan) -> Json:
    """Return a fused group in steps, and the times at which it and its blocks begin and end."""
    edges = np.append(picture.times.start, picture.times.cycles)
    return {
        "labels": list(group_labels(span)),
        "micro_batches": span.fused_group.micro_batches,
        "begin": span.begin_step,
        "end": span.end_step,
        "start": int(edges[span.begin_step]),
        "stop": int(edges[span.end_step]),
        "blocks": edges[list(span.blocks)].tolist(),
    }


def _tensors(picture: ScheduleView) -> Json:
    view = picture.view
    line, commands, tensors = view.timeline, view.schedule.commands, picture.problem.tensors
    names, moved = ("loaded", "stored", "streamed_in", "streamed_out"), bytes_moved(view)
    by_kind = {
        name: per_step(moved * (commands.kind == kind), commands.tensor, len(tensors)).tolist()
        for name, kind in zip(names, Command, strict=True)
    }
    order = np.lexsort((line.step, line.tensor))
    first = np.searchsorted(line.tensor[order], np.arange(len(tensors) + 1))
    return {
        "name": [tensor.name for tensor in tensors],
        "kind": kind_numbers(picture.problem).tolist(),
        "bytes": line.size_bytes.tolist(),
        "in_dram": line.in_dram.astype(int).tolist(),
        "keep": line.keep.astype(int).tolist(),
        **by_kind,
        "uses_first": first.tolist(),
        "uses_step": line.step[order].tolist(),
        "uses_access": line.kind[order].tolist(),
    }


def _commands(picture: ScheduleView) -> Json:
    commands, times = picture.view.schedule.commands, picture.times
    return {
        "step": commands.step.tolist(),
        "kind": commands.kind.tolist(),
        "tensor": commands.tensor.tolist(),
        "bytes": bytes_moved(picture.view).tolist(),
        "start": times.command_start.tolist(),
        "cycles": picture.analysis.steps.stalls.cycles.tolist(),
        "cause": picture.analysis.steps.stalls.cause.tolist(),
        "stall_cycles": times.command_stall.tolist(),
    }


def _duals(picture: ScheduleView) -> Json:
    return {"unit": picture.in_unit(Fraction(0))[1], "little": picture.little_bytes}
