"""The command that shows the saving of each decision about a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api import ablations, views
from spmopt.cli.options import (
    Limits,
    ListedProblemOptions,
    Network,
    Options,
    Output,
    Printing,
    require_output,
)
from spmopt.cli.schedule import exit_code, schedule_all

if TYPE_CHECKING:
    from spmopt.api.callbacks import Callbacks
    from spmopt.core.problem import Problem


class AblationOptions(Options, of=ablations.ablation, without=vars(Limits())):
    """Options of an ablation."""


def ablate(
    network: Network,
    /,
    *,
    options: AblationOptions = AblationOptions(),
    limits: Limits = Limits(),
    problem_options: ListedProblemOptions = ListedProblemOptions(),
    output: Output | None = None,
    keep: Path | None = None,
    printing: Printing = Printing(),
) -> int:
    """Show the saving of each decision: heuristics, residency, fusion, order.

    From everything in DRAM to the best schedule; each step is verified and has its certified
    bound. With -o a page (HTML): a waterfall, rooflines, a table.

    Parameters
    ----------
    keep
        Folder for a result file of each schedule, e.g. start.json; existing files are replaced.
    """
    from spmopt.cli.terminal.output import emit, print_message

    if output is not None:
        views.require_page(output)
        require_output(output)
    if keep is not None:
        # One name stands for all: the others depend on the decisions that are made.
        require_output(keep / "start.json", (), "--keep")

    def run(problem: Problem, callbacks: Callbacks, time_limit: float) -> ablations.Ablation:
        del time_limit  # that of the limits: no order is searched ahead
        return ablations.ablation(problem, **vars(options), **vars(limits), callbacks=callbacks)

    with schedule_all(problem_options, network, run, limits.time_limit) as (found, stopped):
        emit(found, printing.json)
        if keep is not None:
            found.save_solutions(keep)
        if output is not None:
            page = views.report(found)
            page.save(output)
            print_message(f"{output}: {page.title}")
        return exit_code([each.result for each in found.decisions], stopped())
