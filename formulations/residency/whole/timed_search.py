"""Find whole-tensor schedules of little time: integer program and transfers in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from formulations.residency.bound.prices import Multipliers
from formulations.residency.whole.choices import Choices
from formulations.residency.whole.greedy import filled, repaired
from formulations.residency.whole.timed_columns import nearby
from formulations.residency.whole.timed_model import TimedProgram, timed_program
from formulations.residency.whole.transfers import Setting, Timed, best_transfers
from formulations.solver.highs import solve_within
from formulations.solver.program import Floats, SolverResult
from spmopt.core.table import Bools

_DEPTH = 2  # levels of steps per interval and prices
_BUSY = 0.9  # steps at least so full in the relaxation get a row (W3)
_ROUNDS = 3
_SHARE = 0.8  # of the time left, for one integer program; the rest is for transfers
_WORTH_A_ROUND = 1e-3  # relative gain by new columns that calls for another integer program


def search(
    setting: Setting, prices: Multipliers, starts: Sequence[Choices], keep: Floats
) -> Timed | None:
    """Best choices and transfers found; None if time ran out before any.

    The columns come from ``prices`` (of the relaxation) and from those of the best choices so
    far; as long as new columns help much, the integer program is solved again. ``keep`` (a,)
    ranks the intervals where the linear relaxation is indifferent.
    """
    steps = setting.intervals.steps
    columns = nearby(setting.intervals, setting.coefficients, prices, _DEPTH)
    best: Timed | None = None

    def offer(choices: Choices) -> None:
        nonlocal best, columns
        timed = best_transfers(setting, choices, columns)
        if timed is not None and (best is None or timed.value < best.value):
            best = timed
            setting.request.report_incumbent(value=timed.value)
            columns = columns.union(timed.built.columns, steps)
            columns = columns.union(
                nearby(setting.intervals, setting.coefficients, timed.prices, _DEPTH), steps
            )

    for choices in starts:
        offer(choices)
    for _ in range(_ROUNDS):
        relaxed = timed_program(setting, columns)
        answer = _relaxation(setting, relaxed)
        if answer.primal is None:
            break
        offer(_guided(relaxed, answer.primal, keep))
        model = timed_program(setting, columns, _busy(relaxed, answer.primal))
        answer = _solved(setting, model, best)
        if answer.primal is None or answer.objective is None:
            break
        offer(repaired(setting.uses, model.choices(answer.primal), keep))
        value = answer.objective * model.built.price_unit * model.built.unit_bytes
        if best is None or best.relaxed_value > value * (1 - _WORTH_A_ROUND):
            break
    return best


def _relaxation(setting: Setting, model: TimedProgram) -> SolverResult:
    return solve_within(replace(model.program, integer=None), setting.request)


def _busy(model: TimedProgram, relaxed: Floats) -> Bools:
    """(n,) Steps that are nearly full in the linear relaxation."""
    occupancy = model.built.occupancy
    result: Bools = relaxed[occupancy] >= _BUSY * model.program.upper[occupancy]
    return result


def _guided(model: TimedProgram, relaxed: Floats, keep: Floats) -> Choices:
    """Choices that fit, most wanted by the linear relaxation first."""
    uses = model.setting.uses
    wanted = [
        np.where(state >= 0, relaxed[state], 0.0)
        for state in (model.decisions.kept, model.decisions.resident)
    ]
    nothing = np.zeros(uses.step.size, bool)
    tie = 0.01 * keep / max(keep.max(initial=0.0), 1e-300)
    return filled(uses, Choices.of(uses, nothing, nothing), wanted[0] + tie, wanted[1] + 0.01)


def _solved(setting: Setting, model: TimedProgram, best: Timed | None) -> SolverResult:
    """Solve the integer program, from the best choices so far."""
    request = setting.request

    def progress(value: float, bound: float) -> None:
        if np.isfinite(value) and bound > 0:
            request.report(f"at most {value / bound - 1:.3%} to gain in this program", None)

    return solve_within(
        model.program,
        request,
        options={"mip_rel_gap": request.tolerance},
        share=_SHARE,
        start=None if best is None else model.values(best),
        progress=progress,
    )
