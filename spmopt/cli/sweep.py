"""The commands that run schedulers over ranges of machines and batches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from spmopt.api import sweeping
from spmopt.cli.binding import Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import MANY, Jobs, Json, Networks, Output


@command(MANY, Options=sweeping.sweep)
def sweep(call: Call, networks: Networks, jobs: Jobs = None, json: Json = False) -> int:
    """Run schedulers over ranges of scratchpads, machines and batches: one row for each.

    Sizes, rates and counts may be lists and ranges, e.g. 8,16 or 24MB:1000MB:2MB or 8:256:x2.
    """
    from spmopt.cli.terminal.output import exit_code, print_json, print_line, print_text
    from spmopt.cli.terminal.progress import watching

    with watching(remaining=True) as callbacks:
        found = call(sweeping.sweep, networks, jobs=jobs, callbacks=callbacks)
    output = call.values["output"]
    code = exit_code(found.left)
    if not code and any(row["status"] == "failed" for row in found.table):
        code = Code.NOT_VERIFIED
    if json:
        print_json(found.record())
    elif output is None:
        print_text(found.text())
    elif not found.left:
        for line in found.summary():
            print_line(f"{output}: {line}" if line.endswith("verified") else line)
    return code


@command(MANY)
def merge(
    files: Annotated[list[Path], Argument(help="CSV files of 'spmopt sweep --shard'.")],
    output: Output,
    json: Json = False,
) -> None:
    """Join the files of shards of a sweep into one, in the order of the sweep."""
    from spmopt.cli.terminal.output import print_json, print_line, print_message

    count, missing = sweeping.merge(files, output)
    if json:
        print_json({"file": str(output), "rows": count, "missing": list(missing)})
    else:
        print_line(f"{output}: {count} rows")
    if missing:
        rest = ", ".join(missing)
        print_message(f"missing: {rest}; the command without --shard goes on from {output}")
