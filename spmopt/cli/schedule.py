"""The commands that schedule a network, or look at one schedule in detail."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from spmopt.api import analyses, inputs, scheduling, verifying
from spmopt.api.fusion import RESIDENCY, default_fusion
from spmopt.api.in_order import first_of
from spmopt.cli.codes import Code
from spmopt.cli.options import (
    ListedProblemOptions,
    Names,
    Network,
    Output,
    Printing,
    ProblemOptions,
    Result,
    SearchOptions,
    Target,
    give,
    option_record,
    require_output,
)
from spmopt.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:  # they would load numpy, and help should not
    from spmopt.api.callbacks import Callbacks
    from spmopt.api.solutions import ComparisonTable, Solution
    from spmopt.core.problem import Problem
    from spmopt.core.result import Result as Scheduled

_LARGE = 10_000
"""Operations above which garbage collection over the network would take long."""
Stop = Callable[[], bool]
T = TypeVar("T")
_Csv = Annotated[Path | None, Parameter(help="CSV file to write; an existing one is replaced.")]
_Scheduler = Annotated[
    str | None,
    Parameter(
        name=("--scheduler", "-s"),
        help="Name ('spmopt schedulers' lists them); default: fusion or residency.",
    ),
]
_Schedulers = Annotated[
    Names | None,
    Parameter(
        name=("--schedulers", "--scheduler", "-s"),
        help="Names ('spmopt schedulers' lists them); default: all usual ones for the objective.",
    ),
]


@option_record()
class OneSchedule:
    """A problem, and how it is scheduled."""

    problem_options: ProblemOptions = ProblemOptions()
    search: SearchOptions = SearchOptions()
    scheduler: _Scheduler = None

    def solve(self, problem: Problem, callbacks: Callbacks) -> Solution:
        """Schedule a problem; where nothing else is asked for, with fusion."""
        search = self.search
        if self.scheduler is None and search.fusion is None and search.fusion_plan is None:
            search = replace(search, fusion=_default_fusion(problem, search.objective))
        return scheduling.solve(problem, self.scheduler, **vars(search), callbacks=callbacks)

    def given(self) -> list[str]:
        """Return the options that are not at their default."""
        scheduler = ["--scheduler"] * (self.scheduler is not None)
        return [*self.problem_options.given(), *give(self.search), *scheduler]


def solve(
    network: Network,
    /,
    *,
    options: OneSchedule = OneSchedule(),
    backend: Annotated[str | None, Parameter(metavar="pulp:NAME")] = None,
    output: Output | None = None,
    printing: Printing = Printing(),
) -> int:
    """Schedule a network, verify the schedule and certify its bound.

    Parameters
    ----------
    backend
        Solve the PuLP model of the scheduler instead, by pulp:cbc, pulp:highs, pulp:gurobi,
        pulp:cplex, pulp:scip or another solver of PuLP.
    """
    from spmopt.cli.terminal.output import emit

    if output is not None:
        require_output(output)
    if backend is not None:
        options = replace(options, scheduler=f"{options.scheduler or RESIDENCY}@{backend}")
    objective = options.search.objective
    with schedule_all(options.problem_options, network, options.solve, objective) as (
        solution,
        stopped,
    ):
        try:
            emit(solution, printing.json)
        finally:  # after a hang-up nobody reads the output; the file is written all the same
            if output is not None:
                solution.save(output)
        return exit_code([solution.result], stopped())


def compare(
    network: Network,
    /,
    *,
    problem_options: ProblemOptions = ProblemOptions(),
    schedulers: _Schedulers = None,
    search: SearchOptions = SearchOptions(),
    wide: bool = False,
    output: Target | None = None,
    printing: Printing = Printing(),
) -> int:
    """Compare schedulers, all with the best certified bound.

    Parameters
    ----------
    wide
        Show all figures: energy, distance to the best, both gaps, seconds.
    output
        Folder for a result file of each schedule, e.g. page.json; existing files are replaced.
    """
    from spmopt.cli.terminal.output import emit, print_message
    from spmopt.schedulers.registry import find

    asked = None if schedulers is None else [find(name).name for name in schedulers]

    def run(problem: Problem, callbacks: Callbacks) -> ComparisonTable:
        names, options = asked, search
        if names is None:
            names, note = scheduling.usual_schedulers(problem, search.objective)
            print_message(note) if note else None
            if search.fusion is None:
                options = replace(search, fusion=_default_fusion(problem, search.objective))
        if output is not None:
            for name in names:
                require_output(output / f"{name}.json")
        return scheduling.compare(problem, names, **vars(options), callbacks=callbacks)

    with schedule_all(problem_options, network, run, search.objective) as (found, stopped):
        try:
            emit(replace(found, wide=wide), printing.json)
        finally:
            if output is not None:
                for name, solution in found.files():
                    solution.save(output / f"{name}.json")
        return exit_code(found.results, stopped())


def verify(result: Result, /, *, printing: Printing = Printing()) -> int:
    """Recompute every claim of a result file, without a solver."""
    from spmopt.cli.terminal.output import emit
    from spmopt.cli.terminal.progress import watching

    with watching() as callbacks:
        found = verifying.verify(result, callbacks=callbacks)
    emit(found, printing.json)
    return Code.NOT_VERIFIED if found.violations else Code.OK


def analyze(
    network: Network,
    /,
    *,
    per: str | None = None,
    options: OneSchedule = OneSchedule(),
    csv: _Csv = None,
    printing: Printing = Printing(),
) -> int:
    """Show where a schedule's time, traffic and reuse go; NETWORK may be a result file.

    Parameters
    ----------
    per
        Also show figures per operation, layer, tensor or use.
    """
    from spmopt.cli.terminal.output import emit
    from spmopt.core.errors import unknown

    if per is not None and per not in analyses.PER:
        raise unknown("choice for --per", per, analyses.PER)
    if csv is not None:
        require_output(csv, (network, options.problem_options.on.base), "--csv")
    with legal(options, network) as (solution, code):
        if solution.result.schedule is not None:
            found = analyses.analyze(solution, per=per)
            if csv is not None:
                found.save_csv(csv)
            emit(found, printing.json)
        return code()


def explain(
    network: Network,
    /,
    *,
    top: int = 5,
    step: int | None = None,
    options: OneSchedule = OneSchedule(),
    csv: _Csv = None,
    printing: Printing = Printing(),
) -> int:
    """Explain the stalls of a schedule, and the worth of more SPM and bandwidth.

    NETWORK may be a result file.

    Parameters
    ----------
    top
        Number of steps to show, by length of their stalls.
    step
        Show this step instead, counted from 0, in full.
    """
    from spmopt.cli.terminal.output import emit, print_json

    if top < 1:
        raise InputError(f"--top {top}: must be at least 1")
    if csv is not None:
        require_output(csv, (network, options.problem_options.on.base), "--csv")
    try:
        with legal(options, network) as (solution, code):
            if solution.result.schedule is not None:
                found = analyses.explain(solution, top=top, step=step)
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


def problem(
    network: Network,
    /,
    *,
    problem_options: ProblemOptions = ProblemOptions(),
    output: Output,
    printing: Printing = Printing(),
) -> None:
    """Write the problem of a network as JSON."""
    from spmopt.cli.terminal.output import print_json, print_line
    from spmopt.cli.terminal.progress import watching
    from spmopt.io.files import write_problem
    from spmopt.reporting.results import problem_record

    require_output(output)
    with watching() as callbacks:
        found = build(problem_options, network, callbacks)
        write_problem(output, found)
    if printing.json:
        print_json(problem_record(found))
    else:
        size = f"{len(found.operations)} operations, {len(found.tensors)} tensors"
        print_line(f"{output}: {found.name}, {size}")


def build(problem_options: ListedProblemOptions, network: str, callbacks: Callbacks) -> Problem:
    """Build a problem without garbage collection."""
    # A network is up to a million objects that stay to the end: of 100,000 operations, collection
    # took 4 % of the time of `stream`.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        found = problem_options.build(network, callbacks)
        if len(found.operations) > _LARGE:
            gc.freeze()
        return found
    finally:
        if was_enabled:
            gc.enable()


def _default_fusion(problem: Problem, objective: str) -> str:
    """Return the default fusion space; print a note where there is no fusion."""
    from spmopt.cli.terminal.output import print_message

    fusion, note = default_fusion(problem, first_of(objective))
    if note:
        print_message(note)
    return fusion


@contextmanager
def schedule_all(
    problem_options: ListedProblemOptions,
    network: str,
    run: Callable[[Problem, Callbacks], T],
    objective: str = "time",
) -> Iterator[tuple[T, Stop]]:
    """Schedule; yield the result, and a function that returns whether Ctrl-C was pressed.

    A first Ctrl-C does not end the block that follows.
    """
    from spmopt.cli.terminal.interrupt import interruptible, losing
    from spmopt.cli.terminal.live import Live
    from spmopt.cli.terminal.output import print_warning
    from spmopt.cli.terminal.progress import watching
    from spmopt.core.objective import objective_named
    from spmopt.metrics import in_unit
    from spmopt.reporting.quantities import si

    with ExitStack() as display:
        live = Live()
        callbacks = display.enter_context(watching(live))
        problem = build(problem_options, network, callbacks)
        aim = objective_named(first_of(objective), problem.machine)
        live.show = lambda value: si(*in_unit(aim, problem.machine, Fraction(value)), fill=True)
        with interruptible() as stopped:
            callbacks = replace(callbacks, stop=stopped)
            with losing(lambda: live.has_schedule):
                found = run(problem, callbacks)
                display.close()
                # Asked only if a bound was computed; to load the module for it takes 0.1 s.
                if (kernel := sys.modules.get("formulations.residency.bound.compiled")) is not None:
                    print_warning(told) if (told := kernel.failure()) else None
                yield found, stopped


@contextmanager
def legal(options: OneSchedule, network: str) -> Iterator[tuple[Solution, Callable[[], Code]]]:
    """Yield a verified solution, from a file or made now, and its exit code."""
    from spmopt.cli.terminal.output import print_message
    from spmopt.schedulers.registry import Kind, find
    from spmopt.verifier import require_legal

    if _is_result(network):
        for name in options.given():
            raise InputError(f"{name}: {network} is scheduled already; name a network instead")
        solution = verifying.find_unverified(network)
        verifying.require_feasible(solution)
        require_legal(solution.problem, solution.schedule, solution.result.totals)
        yield solution, lambda: Code.OK
        return
    scheduler = options.scheduler
    if scheduler is not None and find(scheduler).kind is Kind.RELAXATION:
        raise InputError(f"scheduler {scheduler}: gives a bound, no schedule; name another")
    objective = options.search.objective
    with schedule_all(options.problem_options, network, options.solve, objective) as (
        solution,
        stopped,
    ):
        verifying.require_feasible(solution)
        if solution.result.schedule is None:
            print_message(f"{solution.result.scheduler}: no schedule found within the limits")
        yield solution, lambda: exit_code([solution.result], stopped())


def exit_code(found: Sequence[Scheduled], interrupted: bool) -> Code:
    """Return the exit code of scheduling."""
    from spmopt.core.result import Status

    if interrupted:
        return Code.INTERRUPTED
    if any(result.status is Status.FAILED for result in found):
        return Code.NOT_VERIFIED
    if all(result.status is Status.INFEASIBLE for result in found):
        return Code.INFEASIBLE
    if all(result.schedule is None and result.bound is None for result in found):
        return Code.NOTHING_FOUND
    return Code.OK


def _is_result(network: str) -> bool:
    from spmopt.core.validation import is_file, read_json

    if not inputs.is_stored(network) or not is_file(network):
        return False

    document = read_json(Path(network))
    return isinstance(document, dict) and document.get("format") == "spmopt-result"
