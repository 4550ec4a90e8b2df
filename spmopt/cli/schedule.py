"""The commands that schedule a network, or look at one schedule in detail."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from spmopt.api import scheduling
from spmopt.api.fusion import RESIDENCY, default_fusion
from spmopt.api.in_order import first_of
from spmopt.cli.codes import Code
from spmopt.cli.options import (
    AimOptions,
    ListedProblemOptions,
    Names,
    Network,
    Output,
    Printing,
    ProblemOptions,
    SearchOptions,
    Target,
    give,
    require_output,
)

if TYPE_CHECKING:  # they would load numpy, and help should not
    from spmopt.api.callbacks import Callbacks
    from spmopt.api.solutions import ComparisonTable, Solution
    from spmopt.core.problem import Problem
    from spmopt.core.result import Result as Scheduled

_LARGE = 10_000
"""Operations above which garbage collection over the network would take long."""
Stop = Callable[[], bool]
T = TypeVar("T")
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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class OneSchedule:
    """A problem, and how it is scheduled."""

    problem_options: ProblemOptions = ProblemOptions()
    search: SearchOptions = SearchOptions()
    scheduler: _Scheduler = None

    def schedule(self, network: str) -> AbstractContextManager[tuple[Solution, Stop]]:
        """Schedule a network, as :func:`schedule_all`."""
        limit_s, objective = self.search.time_limit, self.search.aim()
        return schedule_all(self.problem_options, network, self._solve, limit_s, objective)

    def _solve(self, problem: Problem, callbacks: Callbacks, time_limit: float) -> Solution:
        """Schedule a problem; where nothing else is asked for, with fusion."""
        search = replace(self.search, time_limit=time_limit)
        # A named scheduler or plan is a choice; fusion is the default for plain networks only.
        if self.scheduler is None and search.fusion is None and search.fusion_plan is None:
            search = replace(search, fusion=_default_fusion(problem, search.aim()))
        return scheduling.solve(problem, self.scheduler, **vars(search), callbacks=callbacks)

    def non_defaults(self) -> list[str]:
        """Return the options that are not at their default."""
        scheduler = ["--scheduler"] * (self.scheduler is not None)
        return [*self.problem_options.non_defaults(), *give(self.search), *scheduler]


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
    from spmopt.cli.terminal.output import emit, print_message

    if output is not None:
        require_output(output)
    if backend is not None:
        # The registry reads the solver from the name of the scheduler, after an "@".
        options = replace(options, scheduler=f"{options.scheduler or RESIDENCY}@{backend}")
    with options.schedule(network) as (solution, stopped):
        try:
            emit(solution, printing.json)
        finally:  # after a hang-up the output has no reader; the file is written all the same
            if output is not None:
                solution.save(output)
                print_message(f"{output}: result, for verify, explain, plot, run and emit")
        return exit_code([solution.result], stopped())


def bound(
    network: Network,
    /,
    *,
    problem_options: ProblemOptions = ProblemOptions(),
    search: AimOptions = AimOptions(),
    output: Output | None = None,
    printing: Printing = Printing(),
) -> int:
    """Certify a lower bound layer by layer, without a schedule: fused ones may cost less."""
    from spmopt.schedulers.registry import BOUNDER

    aims = SearchOptions(**vars(search))
    options = OneSchedule(problem_options=problem_options, search=aims, scheduler=BOUNDER)
    return solve(network, options=options, output=output, printing=printing)


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

    def run(problem: Problem, callbacks: Callbacks, time_limit: float) -> ComparisonTable:
        names, options = asked, replace(search, time_limit=time_limit)
        if names is None:
            names, note = scheduling.usual_schedulers(problem, search.aim())
            print_message(note) if note else None
            if search.fusion is None:
                options = replace(options, fusion=_default_fusion(problem, search.aim()))
        if output is not None:
            # Before the search: a file that cannot be written must not cost an hour.
            for name in names:
                require_output(output / f"{name}.json")
        return scheduling.compare(problem, names, **vars(options), callbacks=callbacks)

    with schedule_all(problem_options, network, run, search.time_limit, search.aim()) as (
        found,
        stopped,
    ):
        try:
            # wide changes the table alone; files and JSON have all figures.
            emit(replace(found, wide=wide), printing.json)
        finally:
            if output is not None:
                for name, solution in found.files():
                    solution.save(output / f"{name}.json")
        return exit_code(found.results, stopped())


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


def build(
    problem_options: ListedProblemOptions,
    network: str,
    callbacks: Callbacks,
    order_s: float = 60.0,
) -> Problem:
    """Build a problem without garbage collection, and search an order for ``order_s`` seconds."""
    # A network is up to a million objects that stay to the end: of 100,000 operations, collection
    # took 4 % of the time of `stream`.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        found = problem_options.build(network, callbacks, order_s)
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
    run: Callable[[Problem, Callbacks, float], T],
    time_limit: float,
    objective: str = "time",
) -> Iterator[tuple[T, Stop]]:
    """Schedule; yield the result, and a function that returns whether Ctrl-C was pressed.

    A search for an order takes its part of the time limit, and ``run`` is told of the rest. A first
    Ctrl-C does not end the block that follows.
    """
    from spmopt.cli.terminal.interrupt import interruptible, losing
    from spmopt.cli.terminal.live import Live
    from spmopt.cli.terminal.output import print_warning
    from spmopt.cli.terminal.progress import watching
    from spmopt.core.objective import objective_named
    from spmopt.core.params import DEFAULTS
    from spmopt.metrics import in_unit
    from spmopt.reporting.quantities import si

    with ExitStack() as display:
        live = Live()
        callbacks = display.enter_context(watching(live))
        order_s, began = DEFAULTS.orders_fraction * time_limit, monotonic()
        problem = build(problem_options, network, callbacks, order_s)
        if problem_options.searches_order:
            time_limit = max(time_limit - (monotonic() - began), time_limit / 2)
        aim = objective_named(first_of(objective), problem.machine)
        # Units depend on the machine, which is known only once the problem is built.
        live.show = lambda value: si(*in_unit(aim, problem.machine, Fraction(value)), fill=True)
        with interruptible() as stopped:
            callbacks = replace(callbacks, stop=stopped)
            with losing(lambda: live.has_schedule):
                found = run(problem, callbacks, time_limit)
                # Ends the live display before results are printed over it.
                display.close()
                # Asked only if a bound was computed; to load the module for it takes 0.1 s.
                if (kernel := sys.modules.get("formulations.residency.bound.compiled")) is not None:
                    print_warning(told) if (told := kernel.failure()) else None
                yield found, stopped


def exit_code(found: Sequence[Scheduled], interrupted: bool) -> Code:
    """Return the exit code of scheduling."""
    from spmopt.core.result import Status

    if interrupted:
        return Code.INTERRUPTED
    # The order is by gravity: a failure outweighs schedules that others found.
    if any(result.status is Status.FAILED for result in found):
        return Code.NOT_VERIFIED
    if all(result.status is Status.INFEASIBLE for result in found):
        return Code.INFEASIBLE
    if all(result.schedule is None and result.bound is None for result in found):
        return Code.NOTHING_FOUND
    return Code.OK
