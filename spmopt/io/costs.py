"""Files of costs of operations: CSV, JSON, and ZigZag's output for each layer.

A CSV file has columns ``operation`` and ``cycles``, and may have ``tiles``, ``mapping``,
``scratch_bytes``, ``energy_pj`` and ``dram_bytes`` (``weight=9408;x=resident``); a JSON file is a
list of objects of the same fields, with ``dram_bytes`` an object. An empty field keeps the mapper's
value. Figures are of one of so many fusion tiles (``tiles``), into which the operation is cut;
without it, of all of the operation. Several rows of these are mappings, in their order.

Of ZigZag (github.com/KULeuven-MICAS/zigzag) a folder of ``*_complete.json``, or one of these:
cycles are ``latency.computation``, without loading and storing data, which schedules decide here;
energy is the operational one and that of all memories but the last of each operand, which is its
DRAM. It counts stalls for its DRAM as computation; :func:`read_costs` says how much stalls at all,
because the DRAM part is then counted twice.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from io import StringIO
from math import ceil, isfinite
from pathlib import Path
from typing import Any

from spmopt.core.costs import RESIDENT, Costs, CostsOf, OperationCost, with_costs
from spmopt.core.errors import ArgumentError, InputError, unknown
from spmopt.core.fusion.tile_costs import ListedAtCosts
from spmopt.core.fusion.tileable_graph import tileable_graph_of
from spmopt.core.problem import Problem
from spmopt.core.validation import guard, is_folder, read_json, read_text

COLUMNS = ("operation", "tiles", "mapping", "cycles", "scratch_bytes", "energy_pj", "dram_bytes")
_OF_ZIGZAG = "_complete.json"


def read_costs(path: Path, warn: Callable[[str], None]) -> Costs:
    """Read a file of costs, or a folder of ZigZag's; ``warn`` receives doubtful values.

    Raises
    ------
    InputError
        It cannot be read, or is none.
    """
    where = f"costs {path}"
    if is_folder(path):
        files = sorted(path.glob(f"*{_OF_ZIGZAG}"))
        # ZigZag's file of sums over layers would count them twice.
        files = [file for file in files if file.name != f"overall{_OF_ZIGZAG}"]
        if not files:
            raise InputError(f"{where}: a folder without *{_OF_ZIGZAG}, as ZigZag writes them")
        return _of_layers([(read_json(file), f"costs {file}") for file in files], warn)
    if path.suffix.lower() == ".csv":
        return gather(_of_csv(path, where))
    if path.suffix.lower() != ".json":
        raise InputError(f"{where}: must end in .csv or .json, or be a folder of ZigZag's results")
    document = read_json(path)
    if isinstance(document, dict) and {"inputs", "outputs"} <= document.keys():
        return _of_layers([(document, where)], warn)
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        raise InputError(f"{where}: must be a list of objects with {', '.join(COLUMNS)}")
    return gather((f"{where}: row {n}", row) for n, row in enumerate(document, start=1))


def _of_csv(path: Path, where: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    text = StringIO(read_text(path, where, kind="CSV"), newline="")
    with guard(where, "CSV", "", csv.Error):
        reader = csv.DictReader(text, strict=True)
        for row in reader:
            # DictReader puts surplus fields under None, and fills missing ones with it.
            if None in row or None in row.values():
                raise InputError(f"{where}: line {reader.line_num}: not as many as columns")
            yield f"{where}: line {reader.line_num}", {**row}


def at_costs(problem: Problem, given: str | Path | CostsOf, warn: Callable[[str], None]) -> Problem:
    """Return ``problem`` at costs of a file or a callable; ``warn`` of missing operations.

    Raises
    ------
    InputError
        As :func:`read_costs` and :func:`~spmopt.core.costs.with_costs`; a machine with banks.
    """
    if callable(given):
        costs, source = _ask(problem, given), getattr(given, "__name__", "a callable")
    else:
        costs, source = read_costs(Path(given), warn), Path(given).name
    if problem.machine.banks:
        raise ArgumentError(
            "costs", ": which bank an operation uses is in no such file; leave banks out"
        )
    found, lacking = with_costs(problem, costs, source)
    if problem.listed is not None:
        found = replace(found, listed=ListedAtCosts(problem.listed, costs, source))
    if lacking:
        operations = found.operations
        all_cycles = sum(operation.mappings[0].compute_cycles for operation in operations)
        theirs = sum(o.mappings[0].compute_cycles for o in operations if o.name in {*lacking})
        share = 100 * theirs / max(all_cycles, 1)
        shown = ", ".join(lacking[:3]) + ", ..." * (len(lacking) > 3)
        warn(
            f"costs {source}: {len(lacking)} of {len(operations)} operations are not in it and "
            f"take those of the built-in model, {share:.3g} % of all cycles: {shown}"
        )
    return found


def _ask(problem: Problem, costs_of: CostsOf) -> Costs:
    """Return the costs that a callable says of each operation, whole and in fusion tiles."""
    ways = {operation.name: [1] for operation in problem.operations}
    if problem.listed is not None:
        ways = {each.name: [*each.mappings] for each in tileable_graph_of(problem).operations}
    return {
        name: found
        for name, every in ways.items()
        if (found := [replace(c, tiles=tiles) for tiles in every for c in costs_of(name, tiles)])
    }


def to_rows(costs: Costs) -> list[dict[str, Any]]:
    """Return costs as rows that :func:`gather` reads; several mappings are named by number."""
    return [
        {"operation": name, "mapping": str(number), **asdict(cost)}
        for name, every in costs.items()
        for number, cost in enumerate(every)
    ]


def gather(rows: Iterator[tuple[str, Mapping[str, object]]] | Any) -> Costs:
    """Return the costs of rows, each named by where it stands.

    Raises
    ------
    InputError
        A row that is none, or stands twice.
    """
    found: dict[str, list[OperationCost]] = {}
    mappings: set[tuple[str, int, str]] = set()
    for where, row in rows:
        for key in row:
            if key not in COLUMNS:
                raise InputError(f"{where}: {unknown('column', key, COLUMNS)}")
        name = row.get("operation")
        if not isinstance(name, str) or not name:
            raise InputError(f"{where}: operation is missing")
        tiles = _count(row, "tiles", where)
        if tiles == 0:
            raise InputError(f"{where}: tiles = 0: must be at least 1")
        mapping = (name, tiles or 1, str(row.get("mapping") or ""))
        if mapping in mappings:
            raise InputError(f"{where}: {name} stands twice; name mappings in the column mapping")
        mappings.add(mapping)
        cycles = _count(row, "cycles", where)
        if cycles is None:
            raise InputError(f"{where}: cycles is missing")
        cost = OperationCost(
            cycles=cycles,
            scratch_bytes=_count(row, "scratch_bytes", where),
            energy_pj=_count(row, "energy_pj", where),
            dram_bytes=_operands(row.get("dram_bytes"), where),
            tiles=tiles or 1,
        )
        found.setdefault(name, []).append(cost)
    return found


def _operands(given: object, where: str) -> dict[str, int | str]:
    """Return bytes by operand, of an object or of a text with ``;`` between them."""
    if given in (None, ""):
        return {}
    if isinstance(given, str):
        pairs = [part.rpartition("=") for part in given.split(";")]
        given = {name.strip(): text.strip() for name, _, text in pairs}
    if not isinstance(given, dict):
        raise InputError(f"{where}: dram_bytes = {given!r}: write weight=9408;x={RESIDENT}")
    return {
        name: RESIDENT if given[name] == RESIDENT else _count(given, name, where) or 0
        for name in given
    }


def _count(row: Mapping[str, object], key: str, where: str) -> int | None:
    """Return a whole number, rounded up; None where nothing is given."""
    value = row.get(key)
    if value is None or value == "":
        return None
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    # Totals must fit in 64 bits, see `core.units.LARGEST`.
    if isinstance(value, bool) or not isfinite(number) or not 0 <= number < 2**60:
        raise InputError(f"{where}: {key} = {value!r}: must be a number, 0 or more")
    return value if isinstance(value, int) else ceil(number)


def _of_layers(layers: list[tuple[object, str]], warn: Callable[[str], None]) -> Costs:
    found: dict[str, list[OperationCost]] = {}
    busy = stalled = 0.0
    for document, where in layers:
        try:
            name, cost, ideal = _layer(document, where)
        except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):
            raise InputError(f"{where}: is no result of a layer as ZigZag writes it") from None
        found[name] = [cost]
        busy += cost.cycles
        stalled += max(0.0, cost.cycles - ideal)
    # Below a thousandth the double counting is lost in the model's own error.
    if busy and stalled > busy / 1000:
        warn(
            f"ZigZag's cycles have {100 * stalled / busy:.3g} % of stalls; those for its DRAM are "
            "counted twice, for schedules move the data here: give its DRAM more bandwidth there"
        )
    return found


def _layer(document: Any, where: str) -> tuple[str, OperationCost, float]:
    """Return name, cost and cycles without stalls of a layer."""
    outputs, layer = document["outputs"], document["inputs"]["layer"]
    name, energy = layer["name"], outputs["energy"]
    if not isinstance(name, str):
        raise InputError(f"{where}: is a sum of layers; give those of each")
    levels = energy["memory_energy_breakdown_per_level"]
    # Levels are listed from the innermost; the last of each operand is its DRAM.
    on_chip = sum(float(each) for of in levels.values() for each in of[:-1])
    figures = {
        "cycles": outputs["latency"]["computation"],
        "energy_pj": float(energy["operational_energy"]) + on_chip,
    }
    cycles = _count(figures, "cycles", where)
    assert cycles is not None
    used = outputs["spatial"]["mac_utilization"]
    ideal = cycles * float(used["stalls"]) / float(used["ideal"])
    return name, OperationCost(cycles=cycles, energy_pj=_count(figures, "energy_pj", where)), ideal
