"""The command that gives buffers of known lifetimes their addresses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from spmopt.cli import Code
from spmopt.cli.options import Json, Output
from spmopt.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from collections.abc import Callable

    from spmopt.core.placement import Placed

_TARGET = "formulations.placement.place"  # by name: it loads a solver


def place(
    *,
    file: Annotated[Path, Argument(help="CSV file: id,lower,upper,size (as MiniMalloc's).")],
    output: Output,
    capacity: Annotated[
        str | None,
        Option(help="Size, as 1MiB or 1048576; enough, unless --minimize is given too."),
    ] = None,
    minimize: Annotated[
        bool, Option("--minimize", help="Place as low as can be, and prove a bound.")
    ] = False,
    time_limit: Annotated[float, Option(help="Seconds to look for a placement.")] = 60.0,
    json: Json = False,
) -> int:
    """Give buffers with known lifetimes their offsets in one memory."""
    if capacity is None and not minimize:
        raise InputError("give --capacity SIZE, or --minimize for the least height")
    if not time_limit > 0:
        raise InputError(f"--time-limit {time_limit}: must be more than 0 seconds")
    from importlib import import_module

    from spmopt.cli.interrupt import interruptible
    from spmopt.cli.output import print_json, say, tell, warn
    from spmopt.core.result import Status
    from spmopt.core.units import Dimension, parse_quantity
    from spmopt.io.document import require_writable
    from spmopt.io.minimalloc import read_buffers, write_buffers

    size = None
    if capacity is not None:
        size = parse_quantity(capacity, Dimension.BYTES, "--capacity")
    require_writable(output)
    buffers = read_buffers(file, warn)
    search = import_module(_TARGET)
    with interruptible(tell) as stopped:
        way: Callable[..., Placed] = search.minimize if minimize else search.place
        found = way(buffers, size, time_limit, stopped)
        if found.status is Status.INFEASIBLE and not json:
            raise InfeasibleError(found.conflict or f"{file}: infeasible")
        if found.placement is not None:
            write_buffers(output, buffers, found.placement.offsets_bytes)
        if json:
            print_json(_record(found, len(buffers)))
        else:
            say(_sentence(found, len(buffers), output, interrupted=stopped()))
        if stopped():
            return Code.INTERRUPTED
    if found.placement is not None:
        return Code.OK
    return Code.INFEASIBLE if found.status is Status.INFEASIBLE else Code.NOTHING_FOUND


def _record(found: Placed, buffers: int) -> dict[str, object]:
    from spmopt.report.conflict import conflict_record

    placement = found.placement
    return {
        "buffers": buffers,
        "status": found.status.value,
        "height_bytes": None if placement is None else placement.height_bytes,
        "bound_bytes": found.bound_bytes,
        "gap": found.gap,
        "method": found.method,
        "conflict": conflict_record(found.conflict),
    }


def _sentence(found: Placed, buffers: int, output: Path, *, interrupted: bool) -> str:
    from spmopt.report.quantities import percent

    if found.placement is None:
        until = "until the interruption" if interrupted else "within the limits"
        return f"no placement found {until}; none is lower than {found.bound_bytes} bytes"
    height = found.placement.height_bytes
    above = percent(found.gap or 0).removeprefix("+")
    known = "the least" if found.gap == 0 else f"at most {above} over the least"
    what = "1 buffer" if buffers == 1 else f"{buffers} buffers"
    return f"{what} in {height} bytes ({known}, {found.bound_bytes} needed): {output}"
