"""The commands that list what there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from spmopt.cli import Code
from spmopt.cli.terminal.output import print_json, results, say

if TYPE_CHECKING:
    from spmopt.schedulers.registry import SchedulerEntry

_KINDS = (
    "A policy is a greedy rule; a formulation optimises from the best of some policies on, and "
    "proves a bound; a relaxation proves a bound, without a schedule. Options follow a name after "
    "colons, as msa:copies=idle:late=load."
)


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
    _table(("network", "batch", "parameters", "what it is"), rows, words=2)
    return Code.OK


def list_machines(given: Sequence[str], as_json: bool) -> int:
    """Print machines by name or TOML file; without one, the presets."""
    from spmopt.hardware.energy import area_report
    from spmopt.hardware.machines import load_machine, names
    from spmopt.hardware.settings import to_settings
    from spmopt.report.headings import technology_name
    from spmopt.report.quantities import si

    found = [load_machine(name) for name in given or names()]
    areas = [area_report(machine).total_mm2 for machine in found]
    if as_json:
        print_json({"machines": list(map(to_settings, found)), "areas_mm2": areas})
        return Code.OK
    rows = [
        (
            machine.name,
            si(machine.spm_bytes, "B"),
            si(machine.dram_bytes_per_s, "B/s"),
            si(machine.operations_per_s, "FLOP/s"),
            si(machine.clock_hz, "Hz"),
            technology_name(machine) or "-",
            "-" if area is None else f"{area:.4g} mm2",
            machine.source,
        )
        for machine, area in zip(found, areas, strict=True)
    ]
    columns = ("machine", "SPM", "bandwidth", "throughput", "clock", "technology", "area", "source")
    _table(columns, rows, words=0)
    return Code.OK


def list_schedulers(as_json: bool) -> int:
    """Print the registry, and below it what each choice of each option means."""
    from spmopt.schedulers.registry import SCHEDULERS

    entries = SCHEDULERS.values()
    if as_json:
        records = [
            {
                "name": entry.name,
                "kind": str(entry.kind),
                "keeps": entry.granularity,
                "what_it_does": entry.summary,
                "source": entry.source,
                "options": {option: dict(choices) for option, choices in entry.options.items()},
            }
            for entry in entries
        ]
        print_json({"schedulers": records})
        return Code.OK
    rows = [
        (entry.name, str(entry.kind), entry.granularity, f"{entry.summary} [{entry.source}]")
        for entry in entries
    ]
    _table(("scheduler", "kind", "keeps", "what it does"), rows)
    say("")
    _table(("option", "of", "meaning"), list(_choices(entries)), words=2)
    say("")
    say(_KINDS)
    return Code.OK


def _choices(entries: Iterable[SchedulerEntry]) -> Iterator[tuple[str, str, str]]:
    """A row for each choice; schedulers that share their options share the rows."""
    sharing: dict[int, list[SchedulerEntry]] = {}
    for entry in entries:
        sharing.setdefault(id(entry.options), []).append(entry)
    for alike in sharing.values():
        names = ", ".join(entry.name for entry in alike)
        for option, choices in alike[0].options.items():
            for choice, meaning in choices.items():
                default = " (default)" if choice == next(iter(choices)) else ""
                yield f"{option}={choice}", names, f"{meaning}{default}"


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], words: int = 1) -> None:
    """Print a list; the last columns, so many, may be folded."""
    from spmopt.report.tables import draw_rows

    draw_rows(columns, rows, results(), words=columns[len(columns) - words :])
