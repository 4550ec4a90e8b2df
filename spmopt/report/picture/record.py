"""A picture as plain data, for pages and programs: columns, not rows."""

from __future__ import annotations

from dataclasses import asdict, fields
from fractions import Fraction

import numpy as np

from spmopt.analysis import Cause
from spmopt.analysis.roofline import ridge_point
from spmopt.core.schedule import Command
from spmopt.core.table import Table
from spmopt.report.analysis.columns import plain
from spmopt.report.picture.figures import figures
from spmopt.report.picture.occupancy import KINDS, kind_numbers
from spmopt.report.picture.picture import GB, MB, Picture
from spmopt.report.picture.tables import tables
from spmopt.report.picture.words import LANES_SAID, TIMINGS_SAID, conditions
from spmopt.report.spent import bank_names
from spmopt.report.view import barrier_notes, order_notes, remarks
from spmopt.verify.durations import per_step

Json = dict[str, object]
_UNPRICED = (
    "no lane of prices: with several banks a page has a price in each of them, none of the whole"
)


def picture_record(picture: Picture) -> Json:
    """Return all of ``picture`` in plain JSON types; times are cycles, sizes bytes.

    ``price`` (per step and MB) and ``worth`` are in ``worth.unit``. Numbers of kinds, causes and
    commands are indices of ``kinds`` and ``causes``, and a :class:`spmopt.core.schedule.Command`;
    ``occupied`` and ``stall_by_cause`` have a row for each kind, for each cause.
    """
    instance, machine, result = picture.instance, picture.instance.machine, picture.result
    return {
        "title": f"{instance.name}, {result.scheduler}",
        "subtitle": conditions([picture]),
        "clock_hz": machine.clock_hz,
        "dram_bytes_per_s": float(machine.dram_bytes_per_s),
        "spm_bytes": machine.spm_bytes,
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
        "figures": [asdict(figure) for figure in figures(instance, result, picture.totals)],
        "remarks": _remarks(picture),
        "kinds": list(KINDS),
        "causes": [cause.words for cause in Cause],
        "steps": _steps(picture),
        "tensors": _tensors(picture),
        "residencies": _columns(picture.residencies),
        "commands": _commands(picture),
        "dram": _columns(picture.copies),
        "tables": tables(picture.analysis, picture.times.stall_by_cause.sum(axis=1).tolist()),
        "roofline": _roofline(picture),
        "worth": _worth(picture),
    }


def _remarks(picture: Picture) -> list[str]:
    notes = barrier_notes(picture.result) if picture.times.timing == "steps" else []
    lines = [*remarks(picture.result), *order_notes(picture.instance, [picture.result]), *notes]
    return [*lines, _UNPRICED] if picture.instance.machine.banks else lines


def _steps(picture: Picture) -> Json:
    times, line, price = picture.times, picture.view.timeline, picture.price
    operations = [picture.instance.operations[index] for index in line.operation.tolist()]
    of = picture.analysis.layers
    return {
        "name": [op.name for op in operations],
        "layer": [of.names[layer] for layer in of.layer.tolist()],
        "pass": ["backward" if back else "forward" for back in of.backward.tolist()],
        "kind": [op.kind for op in operations],
        "operation": line.operation.tolist(),
        "start": times.start.tolist(),
        "cycles": times.duration.tolist(),
        "compute_start": times.compute_start.tolist(),
        "compute_cycles": line.compute_cycles.tolist(),
        "stall_cycles": picture.stall.tolist(),
        "cause": times.cause.tolist(),
        "stall_by_cause": times.stall_by_cause.tolist(),
        "occupied": picture.occupied.tolist(),
        "price": None if price is None else plain(price),
    }


def _tensors(picture: Picture) -> Json:
    view = picture.view
    line, commands, tensors = view.timeline, view.schedule.commands, picture.instance.tensors
    moved = (commands.end - commands.begin) * commands.passes
    names = {
        "loaded": Command.LOAD,
        "stored": Command.STORE,
        "streamed_in": Command.STREAM_IN,
        "streamed_out": Command.STREAM_OUT,
    }
    by_kind = {
        name: per_step(
            moved[commands.kind == kind], commands.tensor[commands.kind == kind], len(tensors)
        ).tolist()
        for name, kind in names.items()
    }
    order = np.lexsort((line.step, line.tensor))
    first = np.searchsorted(line.tensor[order], np.arange(len(tensors) + 1))
    return {
        "name": [tensor.name for tensor in tensors],
        "kind": kind_numbers(picture.instance).tolist(),
        "bytes": line.size_bytes.tolist(),
        "in_dram": line.in_dram.astype(int).tolist(),
        "keep": line.keep.astype(int).tolist(),
        **by_kind,
        "uses_first": first.tolist(),
        "uses_step": line.step[order].tolist(),
        "uses_access": line.kind[order].tolist(),
    }


def _commands(picture: Picture) -> Json:
    commands, times = picture.view.schedule.commands, picture.times
    return {
        "step": commands.step.tolist(),
        "kind": commands.kind.tolist(),
        "tensor": commands.tensor.tolist(),
        "bytes": ((commands.end - commands.begin) * commands.passes).tolist(),
        "start": times.command_start.tolist(),
        "cycles": times.command_cycles.tolist(),
        "cause": picture.analysis.steps.stalls.cause.tolist(),
        "stall_cycles": times.command_stall.tolist(),
    }


def _roofline(picture: Picture) -> Json:
    machine, layers = picture.instance.machine, picture.analysis.by_layer()
    attained = layers.utilisation * machine.operations_per_s
    columns = zip(
        layers.names,
        layers.labels,
        plain(layers.reuse_frequency),
        plain(attained),
        plain(layers.attainable),
        layers.compute_bound,
        strict=True,
    )
    return {
        "ridge": ridge_point(machine),
        "peak_ops_per_s": float(machine.operations_per_s),
        "bytes_per_s": float(machine.dram_bytes_per_s),
        "points": [
            {
                "name": name,
                "pass": label,
                "reuse_frequency": frequency,
                "attained": done,
                "attainable": possible,
                "bound": "compute" if above else "memory",
            }
            for name, label, frequency, done, possible, above in columns
        ],
    }


def _worth(picture: Picture) -> Json:
    worth, (_, unit) = picture.worth, picture.in_unit(Fraction(0))
    if worth is None:
        return {"per_mb": None, "per_gbps": None, "unit": unit}
    return {
        "per_mb": picture.in_unit(worth.per_spm_byte * MB)[0],
        "per_gbps": picture.in_unit(worth.per_byte_per_s * GB)[0],
        "unit": unit,
    }


def _columns(table: Table) -> Json:
    return {field.name: getattr(table, field.name).tolist() for field in fields(table)}
