"""The commands that schedule or verify."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from spmopt.cli import Code
from spmopt.cli.inputs import has_banks, load_instance, make_request
from spmopt.cli.options import Search, Source
from spmopt.cli.terminal.interrupt import Interrupted, interruptible
from spmopt.cli.terminal.live import Live
from spmopt.cli.terminal.output import messages, print_json, results, say, tell, warn
from spmopt.cli.terminal.progress import progress, watched
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective, objective_entry
from spmopt.core.result import Result, Status
from spmopt.io.document import require_folder, require_writable
from spmopt.metrics import in_unit
from spmopt.report.quantities import si
from spmopt.schedulers.registry import COMPARED, COMPARED_BANKS, find

_SMALL = "joint does, of small instances"
_WIDE = 100
"""Most characters of a line that is drawn."""


def run_solve(
    source: Source, search: Search, scheduler: str, output: Path | None, as_json: bool
) -> int:
    """Print one result; write it to ``output``."""
    if output is not None:
        require_writable(output)
    with scheduled(source, search, [scheduler]) as (instance, found, stopped):
        (result,) = found
        if as_json:
            _print_records(instance, found)
        else:
            from spmopt.report.results import result_parts
            from spmopt.report.tables import draw_parts, terminal_width

            wide = min(terminal_width(results()) or _WIDE, _WIDE)
            draw_parts(result_parts(instance, result, wide), results())
        if output is not None:
            _write(output, instance, result)
        return exit_code(found, stopped())


def run_compare(
    source: Source, search: Search, names: str | None, output: Path | None, as_json: bool
) -> int:
    """Print a table of results; write each into the folder ``output``.

    ``names`` None: of all usual schedulers that know the objective.
    """
    usual = COMPARED_BANKS if has_banks(source) else COMPARED
    given = _usual(search.objective, usual) if names is None else names.replace(",", " ").split()
    schedulers = list(dict.fromkeys(find(name).name for name in given))
    if not schedulers:
        raise InputError("--schedulers: name at least one")
    if output is not None:
        require_folder(output)
        for name in schedulers:
            require_writable(output / f"{name}.json")
    with scheduled(source, search, schedulers) as (instance, found, stopped):
        not_run = schedulers[len(found) :]
        if as_json:
            _print_records(instance, found, not_run)
        else:
            from spmopt.report.comparison import compare_view
            from spmopt.report.tables import draw_parts

            draw_parts(compare_view(instance, found, not_run).parts(), results())
        if output is not None:
            for result in found:
                _write(output / f"{result.scheduler}.json", instance, result)
        return exit_code(found, stopped())


def _usual(objective: str, names: Sequence[str]) -> list[str]:
    """Those of a comparison; a note says which do not know the objective."""
    asked = objective_entry(objective).of
    unable = [
        name for name in names if isinstance(asked, Objective) and not find(name).takes(asked)
    ]
    if not unable:
        return list(names)
    tell(f"left out, for they do not minimise {objective}: {', '.join(unable)}; {_SMALL}")
    return [name for name in names if name not in unable]


def run_instance(source: Source, output: Path, as_json: bool) -> int:
    """Write the instance; print its size."""
    from spmopt.io.files import write_instance
    from spmopt.report.results import instance_record

    require_writable(output)
    with progress(messages()) as report:
        instance = load_instance(source, report, warn)
        write_instance(output, instance)
    if as_json:
        print_json(instance_record(instance))
    else:
        size = f"{len(instance.operations)} operations, {len(instance.tensors)} tensors"
        say(f"{output}: {instance.name}, {size}")
    return Code.OK


def run_verify(path: Path, as_json: bool) -> int:
    """Print what the verifier makes of a result file."""
    from spmopt.audit import audit
    from spmopt.io.files import read_result
    from spmopt.report.verification import verification_lines, verification_record

    with progress(messages()) as report:
        report(f"reading {path}", None)
        stored = read_result(path)
        report("verifying", None)
        verdict = audit(stored.instance, stored.result)
    if as_json:
        print_json(verification_record(stored.instance, stored.result, verdict))
    else:
        head, *lines = verification_lines(stored.instance, stored.result, verdict)
        say(head)
        for line in lines:
            say(line, indent=12)
    return Code.NOT_VERIFIED if verdict.violations else Code.OK


@contextmanager
def scheduled(
    source: Source, search: Search, schedulers: Sequence[str]
) -> Iterator[tuple[Instance, list[Result], Callable[[], bool]]]:
    """Schedule; what is done within, a first Ctrl-C does not end, and the last value tells of."""
    from spmopt.solve import compare

    with ExitStack() as display:
        report, show = display.enter_context(watched(messages()))
        instance = load_instance(source, report, warn)
        with interruptible(tell) as stopped:
            request = make_request(search, instance, report, stopped)
            live = Live(partial(_said, request.objective, instance.machine))
            show(live)
            with _losing(live):
                found = compare(instance, schedulers, replace(request, on_incumbent=live.hear))
                display.close()
                yield instance, found, stopped


@contextmanager
def _losing(live: Live) -> Iterator[None]:
    """Let a second Ctrl-C say what is lost by it."""
    try:
        yield
    except Interrupted:
        if not live.has_schedule:
            raise
        raise Interrupted("left at once; what was found so far was not kept") from None


def _said(objective: Objective, machine: Machine, value: Fraction | float) -> str:
    return si(*in_unit(objective, machine, Fraction(value)), fill=True)


def _print_records(
    instance: Instance, found: Sequence[Result], not_run: Sequence[str] = ()
) -> None:
    from spmopt.report.results import results_record

    print_json(results_record(instance, found, not_run))


def _write(path: Path, instance: Instance, result: Result) -> None:
    from spmopt.io.files import StoredResult, write_result

    write_result(path, StoredResult.made_here(instance, result))


def exit_code(found: Sequence[Result], interrupted: bool) -> Code:
    """What scheduling came to."""
    if interrupted:
        return Code.INTERRUPTED
    if all(result.status is Status.INFEASIBLE for result in found):
        return Code.INFEASIBLE
    if all(result.schedule is None and result.bound is None for result in found):
        return Code.NOTHING_FOUND
    return Code.OK
