"""A legal schedule to look at: one made now, or that of a result file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.cli import Code
from spmopt.cli.options import Search, Source
from spmopt.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from spmopt.core.instance import Instance
    from spmopt.core.result import Result

DEFAULT_SCHEDULER = "page"


@contextmanager
def legal(
    source: Source, search: Search, scheduler: str | None
) -> Iterator[tuple[Instance, Result, Callable[[], Code]]]:
    """A verified result, from a file or made now, and the exit code for it."""
    from spmopt.cli.run import exit_code, scheduled
    from spmopt.cli.terminal.output import tell
    from spmopt.core.modes import unfit
    from spmopt.core.result import Status

    if _is_result(source.network):
        instance, result = _stored(source, search, scheduler)
        yield instance, result, lambda: Code.OK
        return
    name = scheduler or DEFAULT_SCHEDULER
    _require_schedules(name)
    with scheduled(source, search, [name]) as (instance, found, stopped):
        (result,) = found
        if result.status is Status.INFEASIBLE:
            raise InfeasibleError(unfit(instance) or "; ".join(result.notes))
        if result.schedule is None:
            tell(f"{name}: no schedule found within the limits")
        yield instance, result, lambda: exit_code(found, stopped())


def require_new(csv: Path, source: Source) -> None:
    """Fail before the work unless rows can be written to ``csv``, which is not to be read.

    Raises
    ------
    InputError
        It is the network's or the machine's file, or cannot be written.
    """
    from spmopt.io.document import require_writable

    for name in (source.network, source.machine):
        if name and csv.is_file() and Path(name).is_file() and csv.samefile(name):
            raise InputError(f"--csv {csv}: would replace the file that is read; name another")
    require_writable(csv)


def require_no_ports(instance: Instance) -> None:
    """Raise :class:`InputError` where steps may wait for ports of banks: ``analyze`` misses it."""
    if any(bank.has_rates for bank in instance.machine.banks):
        raise InputError(
            f"analyze: {instance.name} waits for ports of banks, which no figure here tells; give "
            "banks without ports, as --bank 2MB:nvsim-sram"
        )


def require_no_banks(instance: Instance) -> None:
    """Raise :class:`InputError` for banks, whose prices ``explain`` does not tell apart."""
    if instance.machine.banks:
        raise InputError(
            f"explain: the scratchpad of {instance.name} has banks, which it does not tell apart; "
            "use analyze, or one scratchpad"
        )


def _require_schedules(scheduler: str) -> None:
    from spmopt.schedulers.registry import Kind, find

    if find(scheduler).kind is Kind.RELAXATION:
        raise InputError(f"scheduler {scheduler}: gives a bound, no schedule; name another")


def _is_result(network: str) -> bool:
    if not network.lower().endswith(".json") or not Path(network).is_file():
        return False
    from spmopt.io.document import read_json

    document = read_json(Path(network))
    return isinstance(document, dict) and document.get("format") == "spmopt-result"


def _stored(source: Source, search: Search, scheduler: str | None) -> tuple[Instance, Result]:
    """Read and verify a result, which is fixed: options that would change it are refused."""
    from spmopt.core.modes import unfit
    from spmopt.core.result import Status
    from spmopt.io.files import read_result
    from spmopt.report.headings import require_schedule
    from spmopt.verify import require_legal

    given = [] if scheduler is None else ["scheduler"]
    for options in (source, source.changes, search):
        for field in fields(options):
            fixed = field.default is not MISSING
            if fixed and getattr(options, field.name) != field.default:
                given.append(field.name)
    for name in given:
        option = "--" + name.replace("_", "-")
        raise InputError(f"{option}: {source.network} is scheduled already; name a network instead")
    stored = read_result(Path(source.network))
    if stored.result.status is Status.INFEASIBLE:
        conflict = unfit(stored.instance)
        if conflict is not None:
            raise InfeasibleError(conflict)
    schedule = require_schedule(source.network, stored.instance, stored.result)
    require_legal(stored.instance, schedule, stored.result.totals)
    return stored.instance, stored.result
