"""The commands that list what there is."""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.cli import Code
from spmopt.cli.output import print_json, results


def list_networks(as_json: bool) -> int:
    """Print the zoo."""
    from spmopt.frontends import zoo

    entries = [zoo.entry(name) for name in zoo.names()]
    if as_json:
        records = [
            {
                "name": entry.name,
                "description": entry.description,
                "paper": entry.paper,
                "batch": entry.batch,
                "parameters": dict(entry.parameters),
            }
            for entry in entries
        ]
        print_json({"networks": records})
        return Code.OK
    rows = [
        (
            entry.name,
            str(entry.batch),
            " ".join(f"{name}={value}" for name, value in entry.parameters.items()),
            entry.description,
        )
        for entry in entries
    ]
    _table(("network", "batch", "parameters", "what it is"), rows)
    return Code.OK


def list_machines(as_json: bool) -> int:
    """Print the presets."""
    from spmopt.machines.load import load_machine, names
    from spmopt.machines.settings import to_settings
    from spmopt.report.quantities import si

    found = [load_machine(name) for name in names()]
    if as_json:
        print_json({"machines": [to_settings(machine) for machine in found]})
        return Code.OK
    rows = [
        (
            machine.name,
            si(machine.spm_bytes, "B"),
            si(machine.dram_bytes_per_s, "B/s"),
            si(machine.operations_per_s, "FLOP/s"),
            si(machine.clock_hz, "Hz"),
            machine.source,
        )
        for machine in found
    ]
    _table(("machine", "SPM", "bandwidth", "throughput", "clock", "source"), rows)
    return Code.OK


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from spmopt.report.table import draw_rows

    draw_rows(columns, rows, results())
