"""The commands that search machines, and show the front of a search."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from spmopt.api import searches, tuning
from spmopt.cli.codes import Code
from spmopt.cli.commands import HELP_FLAGS
from spmopt.cli.options import (
    CostOptions,
    Networks,
    Options,
    Printing,
    Target,
    TrainingOptions,
    require_output,
)
from spmopt.core.errors import InputError

tune = App(
    name="tune",
    help="Search machines for networks; show the Pareto front.",
    help_flags=HELP_FLAGS,
    version_flags=(),
)


_STUDY = {"storage": searches.STORAGE}
_OTHERS = (*vars(TrainingOptions()), *vars(CostOptions()))


class StudyOptions(Options, of=searches.read_search, **_STUDY):
    """Options of a stored study."""


class TuneOptions(Options, of=tuning.tune, without=_OTHERS, space=None, workers=1, **_STUDY):
    """Options of a hardware search."""


@tune.default
@tune.command
def search(
    networks: Networks,
    /,
    *,
    options: TuneOptions = TuneOptions(),
    training: TrainingOptions = TrainingOptions(),
    mapper: CostOptions = CostOptions(),
    printing: Printing = Printing(),
) -> int:
    """Search machines for networks (default command).

    Each machine has verified schedules with certified bounds. 'spmopt tune show' shows the front
    and the schedule of any trial.
    """
    from spmopt.cli.terminal.output import exit_code
    from spmopt.cli.terminal.progress import watching

    values = {**vars(options), **vars(training), **vars(mapper)}
    with watching(remaining=True) as callbacks:
        found = tuning.tune(networks, **values, callbacks=callbacks)
    interrupted = exit_code(found.left)
    shown = _show(found, printing.json)
    # The front is shown in both cases; the code of the interrupt wins.
    return interrupted or shown


def _show(found: searches.HardwareSearch, as_json: bool) -> Code:
    """Print the front, and return the exit code for it."""
    from spmopt.cli.terminal.output import emit, print_message

    found.require_feasible()
    emit(found, as_json)
    if found.front:
        return Code.OK
    print_message(found.never_held())
    return Code.NOTHING_FOUND


@tune.command
def show(
    *,
    options: StudyOptions = StudyOptions(),
    trial: int | None = None,
    network: str | None = None,
    output: Target | None = None,
    printing: Printing = Printing(),
) -> int:
    """Show the Pareto front of a search, or any trial.

    Parameters
    ----------
    trial
        Show this trial; with -o write its schedule.
    network
        Network of the schedule, where the study has several.
    output
        CSV file for the front, or result file for the schedule of --trial; an existing one is
        replaced.
    """
    from dataclasses import replace

    from spmopt.api.callbacks import QUIET
    from spmopt.cli.terminal.output import emit, print_message

    _require_together(options, trial, network, output)
    if output is not None:
        require_output(output)
    found = searches.read_search(**vars(options))
    callbacks = replace(QUIET, progress=lambda message, part: print_message(message))
    if trial is None:
        code = _show(found, printing.json)
        if output is not None:
            found.save_csv(output)
        return code
    emit(found.trial(trial), printing.json)
    if output is not None:
        found.solution(trial, network, callbacks=callbacks).save(output)
    return Code.OK


def _require_together(
    options: StudyOptions, trial: int | None, network: str | None, output: Path | None
) -> None:
    """Raise :class:`InputError` for options of the front beside those of a trial."""
    if trial is None and network is not None:
        raise InputError("--network: is for --trial; name one as well")
    if trial is not None and options.top is not None:
        raise InputError("--top: is for the front; leave --trial out")
    if trial is not None and output is not None and output.suffix.lower() == ".csv":
        raise InputError(f"-o {output}: a schedule is no table; name a file that ends in .json")
