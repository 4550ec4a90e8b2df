"""An explanation for programs: one JSON record, or every transfer waited for as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO

import numpy as np

from spmopt.analysis.explanation import Explanation, Transfer
from spmopt.analysis.obstacles import Obstacle
from spmopt.analysis.stalls import Cause
from spmopt.analysis.worth import Worth
from spmopt.core.result import Result
from spmopt.report.records import Record, instance_record, result_record

KB, GB = 1000, 10**9


def explanation_record(
    found: Explanation, worth: Worth | None, result: Result, steps: Sequence[int]
) -> Record:
    """Return what ``--json`` prints; ``steps`` are those in detail."""
    machine, figures = found.instance.machine, found.figures
    clock, stall = machine.clock_hz, figures.stall_cycles
    causes = {cause.words: found.by_cause[cause] for cause in Cause if cause is not Cause.NONE}
    obstacles = {obstacle.words: found.by_obstacle[obstacle] for obstacle in Obstacle}
    return {
        "instance": instance_record(found.instance),
        "result": result_record(machine, result),
        "stall_cycles": int(stall.sum()),
        "stall_s": int(stall.sum()) / clock,
        "stalled_steps": int(np.count_nonzero(stall)),
        "stall_cycles_by_obstacle": {name: int(part) for name, part in obstacles.items()},
        "stall_cycles_by_cause": {name: int(part) for name, part in causes.items()},
        "stalls": [_stall(found, step) for step in steps],
        "worth": None if worth is None else worth_record(worth),
    }


def worth_record(worth: Worth) -> Record:
    """Slopes of the bound in units of the objective, and where the scratchpad has its price."""
    return {
        "unit": worth.certificate.objective.unit,
        "bound": float(worth.bound),
        "per_spm_kb": float(worth.per_spm_byte * KB),
        "per_gb_per_s": float(worth.per_byte_per_s * GB),
        "spm_stretches": [
            {
                "begin": stretch.begin,
                "end": stretch.end,
                "per_spm_kb": float(stretch.per_byte * KB),
            }
            for stretch in worth.stretches()
        ],
    }


def csv_text(found: Explanation, steps: Sequence[int] | None = None) -> str:
    """Rows of every transfer that a step waits for, in the order of the schedule.

    A step that is none is left empty. ``steps``: of these only.
    """
    table, of = found.figures.view.schedule.commands, found.obstacles
    stalls, command = found.figures.stalls, found.obstacles.command
    step = table.step[command]
    wanted = np.ones(step.size, bool) if steps is None else np.isin(step, steps)
    columns: dict[str, list[object]] = {
        "step": step.tolist(),
        "operation": [found.operation(one) for one in step.tolist()],
        "transfer": [Cause(cause).words for cause in stalls.cause[command].tolist()],
        "tensor": [found.figures.view.name(one) for one in table.tensor[command].tolist()],
        "size_bytes": (table.end - table.begin)[command].tolist(),
        "passes": table.passes[command].tolist(),
        "cycles": stalls.cycles[command].tolist(),
        "stall_cycles": stalls.stall_cycles[command].tolist(),
        **{f"{obstacle.words}_cycles": of.by_obstacle[obstacle].tolist() for obstacle in Obstacle},
        "full_step": _steps(of.full_step.tolist()),
        "busy_step": _steps(of.busy_step.tolist()),
    }
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    rows = zip(*columns.values(), strict=True)
    writer.writerows(row for row, shown in zip(rows, wanted.tolist(), strict=True) if shown)
    return text.getvalue()


def _stall(found: Explanation, step: int) -> Record:
    figures, clock = found.figures, found.instance.machine.clock_hz
    cycles, stall = int(figures.cycles[step]), int(figures.stall_cycles[step])
    return {
        "step": step,
        "operation": found.operation(step),
        "cycles": cycles,
        "stall_cycles": stall,
        "stall_s": stall / clock,
        "transfers": [_transfer(found, transfer) for transfer in found.transfers(step)],
    }


def _transfer(found: Explanation, of: Transfer) -> Record:
    full, busy = of.full_step, of.busy_step
    return {
        "transfer": of.cause.words,
        "tensor": of.name,
        "size_bytes": of.size_bytes,
        "passes": of.passes,
        "cycles": of.cycles,
        "stall_cycles": of.stall_cycles,
        "could_be": "later" if of.later else "earlier",
        "obstacle": of.obstacle.words,
        **{f"{kind.words}_cycles": of.by_obstacle[kind] for kind in Obstacle},
        "anyway_step": of.anyway_step,
        "full_step": full,
        "held_by": []
        if full is None
        else [
            {"name": held.name, "size_bytes": held.size_bytes, "until_step": held.until}
            for held in found.holders(full)
        ],
        "busy_step": busy,
        "busy_with": []
        if busy is None
        else [
            {"transfer": moved.cause.words, "tensor": moved.name, "cycles": moved.cycles}
            for moved in found.moved(busy)
        ],
    }


def _steps(steps: list[int]) -> list[object]:
    return ["" if step < 0 else step for step in steps]
