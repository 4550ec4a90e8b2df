"""The commands that verify or explain one schedule, from a result file or made now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from spmopt.api import analyses, inputs, verifying
from spmopt.cli.codes import Code
from spmopt.cli.options import Network, Printing, Result, require_output
from spmopt.cli.schedule import OneSchedule, exit_code
from spmopt.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from spmopt.api.solutions import Solution

_Csv = Annotated[Path | None, Parameter(help="CSV file to write; an existing one is replaced.")]


def verify(
    result: Result,
    /,
    *,
    repeat: bool = False,
    time_limit: float = 60.0,
    printing: Printing = Printing(),
) -> int:
    """Recompute every claim of a result file, without a solver.

    Parameters
    ----------
    repeat
        Also solve again what only a solver claims, as the optimum in whole pages.
    time_limit
        Seconds for that.
    """
    from spmopt.cli.terminal.output import emit
    from spmopt.cli.terminal.progress import watching

    with watching() as callbacks:
        found = verifying.verify(result, repeat=repeat, time_limit=time_limit, callbacks=callbacks)
    emit(found, printing.json)
    return Code.NOT_VERIFIED if found.violations else Code.OK


def explain(
    network: Network,
    /,
    *,
    top: int = 5,
    step: int | None = None,
    per: str | None = None,
    options: OneSchedule = OneSchedule(),
    csv: _Csv = None,
    printing: Printing = Printing(),
) -> int:
    """Explain the stalls of a schedule, and their remedies; NETWORK may be a result file.

    Parameters
    ----------
    top
        Number of steps to show, by length of their stalls.
    step
        Show this step instead, counted from 0, in full.
    per
        Also show figures per operation, layer or tensor; --csv writes them.
    """
    from spmopt.cli.terminal.output import emit, print_json
    from spmopt.core.errors import unknown

    if top < 1:
        raise InputError(f"--top {top}: must be at least 1")
    if per is not None and per not in analyses.PER:
        raise unknown("choice for --per", per, analyses.PER)
    if csv is not None:
        require_output(csv, (network, options.problem_options.on.base), "--csv")
    try:
        with legal(options, network) as (solution, code):
            if solution.result.schedule is not None:
                found = analyses.explain(solution, top=top, step=step, per=per)
                if csv is not None:
                    found.save_csv(csv)
                emit(found, printing.json)
            return code()
    except InfeasibleError as error:
        if not printing.json or error.conflict is None:
            raise
        from spmopt.reporting.results import conflict_record

        print_json({"status": "infeasible", "conflict": conflict_record(error.conflict)})
        return Code.INFEASIBLE


@contextmanager
def legal(options: OneSchedule, network: str) -> Iterator[tuple[Solution, Callable[[], Code]]]:
    """Yield a verified solution, from a file or made now, and its exit code."""
    from spmopt.cli.terminal.output import print_message
    from spmopt.schedulers.registry import Kind, find
    from spmopt.verifier import require_legal

    if _is_result(network):
        # A stored schedule fixes all of these; ignoring an option would mislead.
        for name in options.non_defaults():
            raise InputError(f"{name}: {network} is scheduled already; name a network instead")
        solution = verifying.find_unverified(network)
        verifying.require_feasible(solution)
        require_legal(solution.problem, solution.schedule, solution.result.totals)
        yield solution, lambda: Code.OK
        return
    scheduler = options.scheduler
    if scheduler is not None and find(scheduler).kind is Kind.RELAXATION:
        raise InputError(f"scheduler {scheduler}: gives a bound, no schedule; name another")
    with options.schedule(network) as (solution, stopped):
        verifying.require_feasible(solution)
        if solution.result.schedule is None:
            print_message(f"{solution.result.scheduler}: no schedule found within the limits")
        yield solution, lambda: exit_code([solution.result], stopped())


def _is_result(network: str) -> bool:
    from spmopt.core.validation import is_file, read_json

    if not inputs.is_stored(network) or not is_file(network):
        return False

    # Both problems and results end in .json, so that the content decides.
    document = read_json(Path(network))
    return isinstance(document, dict) and document.get("format") == "spmopt-result"
