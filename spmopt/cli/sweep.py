"""The commands that run schedulers over ranges of machines and batches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Typer

from spmopt.api import sweeping
from spmopt.cli.binding import Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import MANY, Jobs, Json, Networks, Output


def add(app: Typer) -> None:
    """Add the commands."""
    command(app, panel=MANY, Options=sweeping.sweep)(sweep)
    command(app, panel=MANY)(merge)


def sweep(call: Call, networks: Networks, jobs: Jobs = None, json: Json = False) -> int:
    """Run schedulers over ranges of scratchpads, machines and batches: one row for each.

    Sizes, rates and counts may be lists and ranges, e.g. 8,16 or 24MB:1000MB:2MB or 8:256:x2.
    """
    from spmopt.cli.terminal.output import print_json, print_text, say, tell
    from spmopt.cli.terminal.progress import watching

    with watching(remaining=True) as callbacks:
        found = call(sweeping.sweep, networks, jobs=jobs, callbacks=callbacks)
    output = call.values["output"]
    if found.left:
        tell(f"interrupted: {found.left}")
    if json:
        print_json(found.record())
    elif output is None:
        print_text(found.text())
    elif not found.left:
        for line in found.summary():
            say(f"{output}: {line}" if line.endswith("verified") else line)
    return Code.INTERRUPTED if found.left else Code.OK


def merge(
    files: Annotated[list[Path], Argument(help="CSV files of 'spmopt sweep --shard'.")],
    output: Output,
    json: Json = False,
) -> int:
    """Join the files of shards of a sweep into one, in the order of the sweep."""
    from spmopt.cli.terminal.output import print_json, say, tell

    count, missing = sweeping.merge(files, output)
    if json:
        print_json({"file": str(output), "rows": count, "missing": list(missing)})
    else:
        say(f"{output}: {count} rows")
    if missing:
        tell(f"missing: {', '.join(missing)}; the command without --shard goes on from {output}")
    return Code.OK
