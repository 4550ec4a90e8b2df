"""The commands that schedule a network, or look at one schedule in detail."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument, Option

from spmopt.api import analyses, inputs, lowering, scheduling, verifying
from spmopt.api.covers import LISTER, usual_pieces
from spmopt.api.in_order import first_of
from spmopt.cli.binding import Call, command, flag
from spmopt.cli.codes import Code
from spmopt.cli.options import (
    INPUTS,
    SCHEDULES,
    Json,
    Network,
    OptionalOutput,
    Output,
    require_output,
)
from spmopt.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:  # they would load numpy, and help should not
    from spmopt.api.callbacks import Callbacks
    from spmopt.api.solutions import ComparisonTable, Solution
    from spmopt.core.instance import Instance
    from spmopt.core.result import Result

_BACKEND = (
    "Solve the PuLP model of the scheduler instead, by pulp:cbc, pulp:highs, pulp:gurobi, "
    "pulp:cplex, pulp:scip or another solver of PuLP."
)
_Csv = Annotated[
    Path | None, Option("--csv", help="File to write rows to; an existing one is replaced.")
]
_LARGE = 10_000
"""Operations of a network that would take long to look through."""
_OF_VIEW = ("per", "top", "step")
"""Options of what is shown of a schedule."""
Stop = Callable[[], bool]
T = TypeVar("T")


BUILT: dict[str, Any] = {
    "Network": inputs.load,
    "Machine": inputs.machine,
    "Lowering": lowering.lower,
}
_SEARCHED = {**BUILT, "Search": scheduling.solve}


@command(SCHEDULES, **_SEARCHED)
def solve(
    call: Call,
    network: Network,
    backend: Annotated[str | None, Option(metavar="pulp:NAME", help=_BACKEND, hidden=True)] = None,
    output: OptionalOutput = None,
    json: Json = False,
) -> int:
    """Schedule a network, verify the schedule and certify its bound."""
    from spmopt.cli.terminal.output import emit

    if output is not None:
        require_output(output)
    with scheduled(call, network, _solving(call, backend)) as (solution, stopped):
        try:
            emit(solution, json)
        finally:  # where nobody reads what is printed, as after a hang-up, it is kept all the same
            if output is not None:
                solution.save(output)
        return exit_code([solution.result], stopped())


@command(SCHEDULES, **BUILT, Search=scheduling.compare)
def compare(
    call: Call,
    network: Network,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="Folder to write a result file of each to, e.g. page.json; those there are "
            "replaced.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Compare schedulers, all against the best certified bound."""
    from spmopt.cli.terminal.output import emit, print_message
    from spmopt.schedulers.registry import find

    given: list[str] | None = call.values["schedulers"]
    if given is not None:
        given = [find(name).name for name in given]

    def run(instance: Instance, callbacks: Callbacks) -> ComparisonTable:
        names, pieces = given, call.values["pieces"]
        if names is None:
            names, note = scheduling.usual_schedulers(instance, call.values["objective"])
            print_message(note) if note else None
        if given is None and pieces is None:
            pieces = _usual_pieces(instance, call)
        if output is not None:
            for name in names:
                require_output(output / f"{name}.json")
        return call(scheduling.compare, instance, names, pieces=pieces, callbacks=callbacks)

    with scheduled(call, network, run) as (found, stopped):
        try:
            emit(found, json)
        finally:
            if output is not None:
                for name, solution in found.files():
                    solution.save(output / f"{name}.json")
        return exit_code(found.results, stopped())


@command(SCHEDULES)
def verify(
    result: Annotated[Path, Argument(help="Result file.")],
    json: Json = False,
) -> int:
    """Recompute everything that a result file claims, without any solver."""
    from spmopt.cli.terminal.output import emit
    from spmopt.cli.terminal.progress import watching

    with watching() as callbacks:
        found = verifying.verify(result, callbacks=callbacks)
    emit(found, json)
    return Code.NOT_VERIFIED if found.violations else Code.OK


@command(SCHEDULES, Options=analyses.analyze, **_SEARCHED)
def analyze(call: Call, network: Network, csv: _Csv = None, json: Json = False) -> int:
    """Show where a schedule's time, traffic and reuse go; a result file can stand for NETWORK.

    The columns are explained below the tables, and in the README.
    """
    from spmopt.cli.terminal.output import emit
    from spmopt.core.errors import unknown

    per = call.values["per"]
    if per is not None and per not in analyses.PER:
        raise unknown("choice for --per", per, analyses.PER)
    if csv is not None:
        require_output(csv, (network, call.values["base"]), "--csv")
    with legal(call, network) as (solution, code):
        if solution.result.schedule is not None:
            found = call(analyses.analyze, solution)
            if csv is not None:
                found.save_csv(csv)
            emit(found, json)
        return code()


@command(SCHEDULES, Options=analyses.explain, **_SEARCHED)
def explain(call: Call, network: Network, csv: _Csv = None, json: Json = False) -> int:
    """Explain why a schedule stalls, and what more SPM and bandwidth are worth.

    A result file can stand for NETWORK.
    """
    from spmopt.cli.terminal.output import emit, print_json

    if call.values["top"] < 1:
        raise InputError(f"--top {call.values['top']}: must be at least 1")
    if csv is not None:
        require_output(csv, (network, call.values["base"]), "--csv")
    try:
        with legal(call, network) as (solution, code):
            if solution.result.schedule is not None:
                found = call(analyses.explain, solution)
                if csv is not None:
                    found.save_csv(csv)
                emit(found, json)
            return code()
    except InfeasibleError as error:
        if not json or error.conflict is None:
            raise
        from spmopt.reporting.results import conflict_record

        print_json({"status": "infeasible", "conflict": conflict_record(error.conflict)})
        return Code.INFEASIBLE


@command(INPUTS, **BUILT)
def instance(call: Call, network: Network, output: Output, json: Json = False) -> None:
    """Write the instance of a network as JSON."""
    from spmopt.cli.terminal.output import print_json, print_line
    from spmopt.cli.terminal.progress import watching
    from spmopt.io.files import write_instance
    from spmopt.reporting.results import instance_record

    require_output(output)
    with watching() as callbacks:
        found = build(call, network, callbacks)
        write_instance(output, found)
    if json:
        print_json(instance_record(found))
    else:
        size = f"{len(found.operations)} operations, {len(found.tensors)} tensors"
        print_line(f"{output}: {found.name}, {size}")


def build(call: Call, network: str, callbacks: Callbacks) -> Instance:
    """Build the instance that options describe; a wrong machine does not wait for a network."""
    # A network is up to a million objects that are there to the end: of 100,000 operations, looking
    # through them for garbage took 4 % of what `stream` takes.
    searched = gc.isenabled()
    gc.disable()
    try:
        found = _built(call, network, callbacks)
        if len(found.operations) > _LARGE:
            gc.freeze()
        return found
    finally:
        if searched:
            gc.enable()


def _built(call: Call, network: str, callbacks: Callbacks) -> Instance:
    if not inputs.is_stored(network):
        machine = call(inputs.machine, callbacks=callbacks)
        workload = call(inputs.load, network, callbacks=callbacks)
    else:
        workload = call(inputs.load, network, callbacks=callbacks)
        if "base" in call.given:
            raise inputs.already_lowered("--machine", network)
        assert workload.instance is not None
        base, doubts = workload.instance.machine, list[str]()
        later = replace(callbacks, warn=doubts.append)  # first of all it must be possible
        machine = call(inputs.machine, base, callbacks=later)
        lowered = call(lowering.lower, workload, machine, callbacks=callbacks)
        for doubt in doubts:
            callbacks.warn(doubt)
        return lowered
    return call(lowering.lower, workload, machine, callbacks=callbacks)


def _solving(call: Call, backend: str | None) -> Callable[[Instance, Callbacks], Solution]:
    """Return what schedules an instance as the options say, in pieces where they say nothing."""

    def run(instance: Instance, callbacks: Callbacks) -> Solution:
        scheduler, pieces = call.values["scheduler"], call.values["pieces"]
        if backend is not None:
            scheduler = f"{scheduler or LISTER}@{backend}"
        if scheduler is None and pieces is None and call.values["cover"] is None:
            pieces = _usual_pieces(instance, call)
        return call(scheduling.solve, instance, scheduler, pieces=pieces, callbacks=callbacks)

    return run


def _usual_pieces(instance: Instance, call: Call) -> str:
    """Return the covers that are chosen from by default; say so where these are none."""
    from spmopt.cli.terminal.output import print_message

    pieces, note = usual_pieces(instance, first_of(call.values["objective"]))
    if note:
        print_message(note)
    return pieces


@contextmanager
def scheduled(
    call: Call, network: str, run: Callable[[Instance, Callbacks], T]
) -> Iterator[tuple[T, Stop]]:
    """Schedule; a first Ctrl-C does not end what is done within, and the last value returns it."""
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
        instance = build(call, network, callbacks)
        wanted = first_of(call.values.get("objective", "time"))
        aim = objective_named(wanted, instance.machine)
        live.show = lambda value: si(*in_unit(aim, instance.machine, Fraction(value)), fill=True)
        with interruptible() as stopped:
            callbacks = replace(callbacks, stop=stopped)
            with losing(lambda: live.has_schedule):
                found = run(instance, callbacks)
                display.close()
                # Asked only if a bound was computed; to load the module for it takes 0.1 s.
                if (kernel := sys.modules.get("formulations.residency.bound.compiled")) is not None:
                    print_warning(told) if (told := kernel.problem()) else None
                yield found, stopped


@contextmanager
def legal(call: Call, network: str) -> Iterator[tuple[Solution, Callable[[], Code]]]:
    """Give a verified solution, from a file or made now, and the exit code for it."""
    from spmopt.cli.terminal.output import print_message
    from spmopt.schedulers.registry import Kind, find
    from spmopt.verifier import require_legal

    if _is_result(network):
        for name in (n for n in call.given if n in call.values and n not in _OF_VIEW):
            raise InputError(
                f"{flag(name)}: {network} is scheduled already; name a network instead"
            )
        solution = verifying.unverified(network)
        verifying.require_feasible(solution)
        require_legal(solution.instance, solution.schedule, solution.result.totals)
        yield solution, lambda: Code.OK
        return
    scheduler = call.values["scheduler"]
    if scheduler is not None and find(scheduler).kind is Kind.RELAXATION:
        raise InputError(f"scheduler {scheduler}: gives a bound, no schedule; name another")
    with scheduled(call, network, _solving(call, None)) as (solution, stopped):
        verifying.require_feasible(solution)
        if solution.result.schedule is None:
            print_message(f"{solution.result.scheduler}: no schedule found within the limits")
        yield solution, lambda: exit_code([solution.result], stopped())


def exit_code(found: Sequence[Result], interrupted: bool) -> Code:
    """Return what scheduling came to."""
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
    from spmopt.core.border import is_file, read_json

    if not inputs.is_stored(network) or not is_file(network):
        return False

    document = read_json(Path(network))
    return isinstance(document, dict) and document.get("format") == "spmopt-result"
