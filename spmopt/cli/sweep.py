"""The commands that run schedulers over ranges of machines and batch sizes."""

from __future__ import annotations

from spmopt.api import sweeping
from spmopt.cli.codes import Code
from spmopt.cli.options import (
    CostOptions,
    MachineSettings,
    Networks,
    Options,
    Printing,
    TrainingOptions,
)

_OTHERS = (*vars(TrainingOptions()), *vars(MachineSettings()), *vars(CostOptions()))


class SweepOptions(Options, of=sweeping.sweep, without=_OTHERS, schedulers=None, jobs=None):
    """Options of a sweep."""


def sweep(
    networks: Networks,
    /,
    *,
    options: SweepOptions = SweepOptions(),
    training: TrainingOptions = TrainingOptions(),
    machine: MachineSettings = MachineSettings(),
    mapper: CostOptions = CostOptions(),
    printing: Printing = Printing(),
) -> int:
    """Run schedulers over ranges of scratchpads, machines and batch sizes: one row for each.

    Sizes, rates and counts may be lists and ranges, e.g. 8,16 or 24MB:1000MB:2MB or 8:256:x2.
    """
    from spmopt.cli.terminal.output import exit_code, print_json, print_line, print_text
    from spmopt.cli.terminal.progress import watching

    values = {**vars(options), **vars(training), **vars(machine), **vars(mapper)}
    with watching(remaining=True) as callbacks:
        found = sweeping.sweep(networks, **values, callbacks=callbacks)
    code = exit_code(found.left)
    # An interrupt is reported first: rows may fail because of it.
    if not code and any(row["status"] == "failed" for row in found.table):
        code = Code.NOT_VERIFIED
    if printing.json:
        print_json(found.record())
    elif options.output is None:
        print_text(found.text())
    elif not found.left:
        for line in found.summary():
            print_line(f"{options.output}: {line}" if line.endswith("verified") else line)
    return code
