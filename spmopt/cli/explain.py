"""The command that says what a schedule waits for, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from spmopt.cli import Code
from spmopt.cli.flat import flat
from spmopt.cli.options import Json, Search, Source
from spmopt.cli.schedules import DEFAULT_SCHEDULER, legal, require_new, require_no_banks
from spmopt.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from spmopt.analysis.explanation import Explanation
    from spmopt.analysis.shadow_prices import ShadowPrices
    from spmopt.core.errors import Conflict
    from spmopt.core.instance import Instance
    from spmopt.core.result import Result

_TOP = 5


@flat
def explain(
    *,
    source: Source,
    search: Search,
    scheduler: Annotated[
        str | None,
        Option("--scheduler", "-s", help=f"As for solve; default: {DEFAULT_SCHEDULER}."),
    ] = None,
    top: Annotated[int, Option(help="How many of the largest stalls to show.")] = _TOP,
    step: Annotated[
        int | None, Option(help="Show this step instead, counted from 0, in full.")
    ] = None,
    csv: Annotated[
        Path | None,
        Option("--csv", help="File for every transfer waited for; one of that name is replaced."),
    ] = None,
    json: Json = False,
) -> int:
    """Say why a schedule stalls and what more SPM and bandwidth are worth; NETWORK: as analyze."""
    from spmopt.cli.terminal.output import print_json
    from spmopt.io.document import write_text

    if top < 1:
        raise InputError(f"--top {top}: must be at least 1")
    if csv is not None:
        require_new(csv, source)
    try:
        with legal(source, search, scheduler) as (instance, result, code):
            if result.schedule is None:
                return code()
            require_no_banks(instance)
            from spmopt.analysis.explanation import Explanation
            from spmopt.report.explanation import csv_text, explanation_record

            found = Explanation.of(instance, result.schedule)
            steps = found.largest(top) if step is None else [_existing(step, result)]
            worth = _worth(instance, result)
            if csv is not None:
                write_text(csv, csv_text(found, None if step is None else steps))
            if json:
                print_json(explanation_record(found, worth, result, steps))
            else:
                _print(found, worth, result, steps, in_full=step is not None)
            return code()
    except InfeasibleError as error:
        if not json or error.conflict is None:
            raise
        return _print_conflict(error.conflict)


def _print(
    found: Explanation,
    worth: ShadowPrices | None,
    result: Result,
    steps: Sequence[int],
    *,
    in_full: bool,
) -> None:
    from spmopt.cli.terminal.output import results
    from spmopt.report.explanation import explanation_parts
    from spmopt.report.tables import draw_parts

    draw_parts(explanation_parts(found, worth, result, steps, in_full=in_full), results())


def _print_conflict(conflict: Conflict) -> Code:
    from spmopt.cli.terminal.output import print_json
    from spmopt.report.results import conflict_record

    print_json({"status": "infeasible", "conflict": conflict_record(conflict)})
    return Code.INFEASIBLE


def _existing(step: int, result: Result) -> int:
    steps = 0 if result.schedule is None else len(result.schedule.steps)
    if not 0 <= step < steps:
        raise InputError(f"--step {step}: there are steps 0 to {steps - 1}")
    return step


def _worth(instance: Instance, result: Result) -> ShadowPrices | None:
    """By the prices of the result, if it has any for its order."""
    from spmopt.analysis.shadow_prices import ShadowPrices
    from spmopt.core.order import same_order

    certificate = result.certificate
    if certificate is None or not same_order(certificate.order, result.order):
        return None
    return ShadowPrices.of(instance, certificate)
