"""Costs of operations from files, those of ZigZag among them."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any

import pytest

import spmopt
from spmopt.core.costs import OperationCost
from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import source_graph, tileable_graph_of
from spmopt.graph.build import GraphBuilder
from spmopt.hardware.energy import energy_report
from spmopt.io.costs import read_costs
from tests.checked import need

SPACE = 'machine = "small-npu"\n[space]\nspm = ["64KiB", "128KiB"]\n{}\n'


def graph() -> Any:
    b = GraphBuilder("one")
    h = b.add("Gemm", [b.input("x", (64, 128)), b.weight("w", (128, 256))])
    return b.finish([b.add("Relu", [h])])


def lowered(path: Path | None = None, said: list[str] | None = None) -> spmopt.Problem:
    callbacks = spmopt.Callbacks(warn=(said if said is not None else list[str]()).append)
    return spmopt.lower(graph(), spmopt.machine("small-npu"), costs=path, callbacks=callbacks)


PLAIN = lowered()
FIRST, SECOND = (operation.name for operation in PLAIN.operations)
X, W = (PLAIN.tensors[tensor] for tensor in PLAIN.operations[0].reads)


def write(tmp_path: Path, rows: list[dict[str, object]], kind: str) -> Path:
    path = tmp_path / f"costs.{kind}"
    if kind == "json":
        path.write_text(json.dumps(rows))
        return path
    lines = ["operation,mapping,cycles,scratch_bytes,energy_pj,dram_bytes"]
    for row in rows:
        own = row.get("dram_bytes", {})
        assert isinstance(own, dict)
        bytes_of = ";".join(f"{name}={size}" for name, size in own.items())
        fields = (row.get(key, "") for key in ("operation", "mapping", "cycles", "scratch_bytes"))
        lines.append(",".join(map(str, (*fields, row.get("energy_pj", ""), bytes_of))))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_figures_of_a_file_are_those_of_the_schedule(tmp_path: Path, kind: str) -> None:
    twice = {X.name: 2 * X.size_bytes, W.name: "resident"}
    row: dict[str, object] = {
        **{"operation": FIRST, "cycles": 12345, "scratch_bytes": 8192, "energy_pj": 10**6},
        "dram_bytes": twice,
    }
    said: list[str] = []
    found = lowered(write(tmp_path, [row], kind), said)
    mapping, other = (operation.mappings[0] for operation in found.operations)
    assert (mapping.compute_cycles, mapping.scratch_bytes, mapping.own_picojoules) == (
        12345,
        8192,
        10**6,
    )
    assert [(each.fetches, each.required_resident) for each in mapping.operands[:2]] == [
        (2, False),
        (1, True),
    ]
    assert (mapping.spm_read_bytes, mapping.spm_write_bytes) == (0, 0)
    assert other == PLAIN.operations[1].mappings[0]
    assert len(said) == 1
    assert "1 of 2 operations are not in it and take those of the built-in model" in said[0]
    assert SECOND in said[0]
    solution = spmopt.solve(found, "residency", objective="energy")
    totals, value = solution.result.totals, solution.result.value
    assert totals is not None
    assert value is not None
    assert energy_report(totals, found.machine).mac_j == pytest.approx(1e-6)
    assert solution.result.bound is not None
    assert solution.result.bound <= value
    assert f"costs of costs.{kind}" in str(solution)
    path = tmp_path / "r.json"
    solution.save(path)
    assert not spmopt.verify(path).violations
    assert spmopt.read(path).problem == found


def test_modes_are_tried_in_their_order(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"operation": FIRST, "mapping": "large", "cycles": 10, "scratch_bytes": 2_000_000},
        {"operation": FIRST, "mapping": "small", "cycles": 20, "scratch_bytes": 4096},
    ]
    found = lowered(write(tmp_path, rows, "csv"))
    assert [mapping.compute_cycles for mapping in found.operations[0].mappings] == [10, 20]
    totals = spmopt.solve(found, "residency").result.totals
    assert totals is not None
    assert totals.compute_cycles == 20 + PLAIN.operations[1].mappings[0].compute_cycles


def test_energy_that_a_file_lacks_is_that_of_macs(tmp_path: Path) -> None:
    found = lowered(write(tmp_path, [{"operation": FIRST, "cycles": 10}], "json"))
    mapping = found.operations[0].mappings[0]
    assert mapping.own_picojoules == round(64 * 128 * 256 * 4.6)
    assert mapping.spm_read_bytes == PLAIN.operations[0].mappings[0].spm_read_bytes


def test_fusion_tiles_cost_what_the_file_says(tmp_path: Path) -> None:
    """And are as many as it says; the file of the result says it again."""
    rows: list[dict[str, object]] = [
        {"operation": FIRST, "cycles": 9000},
        {"operation": FIRST, "tiles": 4, "cycles": 2500, "dram_bytes": {X.name: 2 * X.size_bytes}},
        {"operation": FIRST, "tiles": 4, "mapping": "slow", "cycles": 2600, "scratch_bytes": 64},
        {"operation": FIRST, "tiles": 16, "cycles": 700},
    ]
    found = lowered(write(tmp_path, rows, "json"))
    whole = spmopt.solve(found, fusion="all", time_limit=0.6)
    tileable = source_graph(need(whole.result.fused))
    first, second = tileable.operations
    assert sorted(first.mappings) == [1, 4, 16]
    assert (first.rows, first.mappings[1].of_tile(0)) == (None, found.operations[0].mappings)
    tile, slow = first.mappings[4].of_tile(1)
    assert (tile.compute_cycles, tile.operands[0].fetches) == (2500, 8)
    assert (slow.compute_cycles, slow.scratch_bytes, slow.operands[0].fetches) == (2600, 64, 1)
    assert tile.own_picojoules == round(64 * 128 * 256 * 4.6 / 4)
    assert [*second.mappings] == [1, 2, 4, 8, 16, 32, 64]
    path = tmp_path / "r.json"
    whole.save(path)
    assert not spmopt.verify(path).violations
    kept = spmopt.read(path).result
    assert source_graph(need(kept.fused)).costs == tileable.costs
    assert kept.fusion_bound == whole.result.fusion_bound
    relisted = spmopt.lower(
        graph(),
        spmopt.machine("small-npu"),
        costs=tmp_path / "costs.json",
        order="depth-first",
        callbacks=spmopt.Callbacks(warn=print),
    )
    assert tileable_graph_of(relisted).costs == tileable.costs


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"operation": "Gemmy", "cycles": 1}, "no operation called 'Gemmy'; nearest is"),
        ({"operation": FIRST}, "row 1: cycles is missing"),
        ({"operation": FIRST, "cycles": 1, "tiles": 0}, "tiles = 0: must be at least 1"),
        ({"operation": FIRST, "cycles": "fast"}, "cycles = 'fast': must be a number, 0 or more"),
        ({"operation": FIRST, "cycles": 1, "seconds": 2}, "no column called 'seconds'"),
        ({"operation": FIRST, "cycles": 1, "dram_bytes": {"v": 1}}, "no operand called 'v'"),
        ({"operation": FIRST, "cycles": 1, "dram_bytes": {W.name: 1}}, "are its elements of"),
        ({"cycles": 1}, "operation is missing"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, row: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        lowered(write(tmp_path, [row], "json"))
    assert "\n" not in str(caught.value)


def layer(name: object = FIRST, stalls: float = 0.8) -> dict[str, object]:
    """Write what ZigZag's ``CostModelEvaluation.__jsonrepr__`` has of a layer."""
    levels = {"O": [1.0, 20.0, 300.0], "W": [2.0, 400.0], "I": [30.0, 500.0]}
    return {
        "outputs": {
            "memory": {"utilization": None, "word_accesses": {}},
            "energy": {
                "energy_total": 2000.0,
                "operational_energy": 83.5,
                "memory_energy": 1253.0,
                "memory_energy_breakdown_per_level": levels,
            },
            "latency": {"data_onloading": 5, "computation": 1000, "data_offloading": 7},
            "spatial": {"mac_utilization": {"ideal": 0.8, "stalls": stalls}},
        },
        "inputs": {"accelerator": "Core(1)", "layer": {"name": name, "type": "Gemm"}},
    }


def test_layers_of_zigzag(tmp_path: Path) -> None:
    (tmp_path / "gemm_complete.json").write_text(json.dumps(layer()))
    (tmp_path / "overall_complete.json").write_text("{}")
    said: list[str] = []
    (cost,) = read_costs(tmp_path, said.append)[FIRST]
    assert (cost.cycles, cost.energy_pj) == (1000, 137)  # 83.5 + 1 + 20 + 2 + 30, rounded up
    assert said == []
    (tmp_path / "gemm_complete.json").write_text(json.dumps(layer(stalls=0.6)))
    assert read_costs(tmp_path / "gemm_complete.json", said.append)[FIRST][0].cycles == 1000
    assert said[0].startswith("ZigZag's cycles have 25 % of stalls; those for its DRAM are counted")
    assert lowered(tmp_path).operations[0].mappings[0].compute_cycles == 1000


def test_a_layer_as_zigzag_wrote_it() -> None:
    said: list[str] = []
    folder = Path(__file__).parents[2] / "instances" / "zigzag" / "layers"
    found = read_costs(folder, said.append)
    assert [*found] == ["stem"]
    (cost,) = found["stem"]
    assert cost.cycles == 16 * 16 * 3 * 3  # channels are side by side in its array
    assert cost.energy_pj == ceil(762700.672 - 384000 - 100800 - 179200)  # all but the DRAM's
    assert said == []


def test_a_callable_says_the_same_as_a_table() -> None:
    def mine(name: str, tiles: int) -> list[OperationCost]:
        return [OperationCost(cycles=9000 // tiles + 100)] if name == FIRST and tiles < 5 else []

    callbacks = spmopt.Callbacks(warn=print)
    found = spmopt.lower(graph(), spmopt.machine("small-npu"), costs=mine, callbacks=callbacks)
    (first, _), plain = tileable_graph_of(found).operations, tileable_graph_of(PLAIN).operations[0]
    assert found.machine.costs == "mine"
    cycles = {tiles: each.first.compute_cycles for tiles, each in first.mappings.items()}
    assert cycles == {1: 9100, 2: 4600, 4: 2350}
    assert len(plain.mappings) > 3


def test_of_fusion_tiles_that_there_are_not_no_costs_are_taken(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"operation": FIRST, "tiles": 3, "cycles": 1}]
    with pytest.raises(InputError, match="cannot be cut into 3 fusion tiles; give 1, 2, 4, 8, 16"):
        spmopt.solve(lowered(write(tmp_path, rows, "json")), fusion="all")


def test_what_is_no_layer(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    for document, said in (
        ({"inputs": {}, "outputs": {}}, "is no result of a layer as ZigZag writes it"),
        (layer([1, 2]), "is a sum of layers"),
        ({"energy": 1}, "must be a list of objects"),
    ):
        path.write_text(json.dumps(document))
        with pytest.raises(InputError, match=said):
            read_costs(path, print)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder without"):
        read_costs(tmp_path / "empty", print)
    with pytest.raises(InputError, match=r"must end in \.csv or \.json"):
        read_costs(tmp_path / "c.txt", print)


NETWORK: dict[str, Any] = {"batch": 1, "parameters": {"layers": 1, "sequence": 16}}


def costs_of_bert(tmp_path: Path) -> Path:
    """Write costs of the first product of :data:`NETWORK`."""
    problem = spmopt.lower(spmopt.load("bert-tiny", **NETWORK), spmopt.machine("small-npu"))
    name = next(each.name for each in problem.operations if each.mappings[0].macs)
    return write(tmp_path, [{"operation": name, "cycles": 777777}], "csv")


@pytest.mark.parametrize("scheduler", ["belady", "residency", "fusion"])
def test_a_sweep_takes_costs(tmp_path: Path, scheduler: str) -> None:
    costs = costs_of_bert(tmp_path)
    said = list[str]()
    callbacks = spmopt.Callbacks(warn=said.append)
    options: dict[str, Any] = {"machine": "small-npu", "spm": ["64KiB", "128KiB"]}
    options |= {"time_limit": 0.15, "mapper": "tiled"}
    rows: Any = [
        spmopt.sweep(
            "bert-tiny", [scheduler], costs=given, callbacks=callbacks, **NETWORK, **options
        ).table
        for given in (None, costs)
    ]
    (before, _), (row, other) = rows
    alone = spmopt.solve(
        spmopt.lower(
            spmopt.load("bert-tiny", **NETWORK),
            spmopt.machine("small-npu", spm="64KiB"),
            mapper="tiled",
            costs=costs,
        ),
        scheduler,
        tolerance=1e-3,
        time_limit=0.3,
    )
    assert row["time_s"] == pytest.approx(alone.makespan_s, rel=2e-2)
    least = 777777 / row["clock_hz"]
    assert before["time_s"] < least <= min(row["time_s"], other["time_s"])
    assert sum("operations are not in it" in text for text in said) == 1


def test_a_search_takes_costs(tmp_path: Path) -> None:
    costs = costs_of_bert(tmp_path)
    (tmp_path / "s.toml").write_text(SPACE.format('bandwidth = ["1GB/s", "100GB/s"]'))
    options: dict[str, Any] = {"sampler": "brute-force", "objectives": ["time", "spm_mb"]}
    options |= {"mapper": "tiled"}
    found = spmopt.tune(
        "bert-tiny",
        tmp_path / "s.toml",
        costs=costs,
        workers=0,
        time_limit=0.2,
        **NETWORK,
        **options,
    )
    times = [float(str(row["time_s"])) for row in found.rows()]
    assert min(times) >= 777777 / spmopt.machine("small-npu").clock_hz


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"settings": {"array.rows": ["8", "16"]}},
            "settings array varies, on which cycles depend",
        ),
        ({"clock": "1GHz,2GHz"}, "clock varies, on which cycles depend"),
        ({"batch": "1,2"}, "are of one network at one batch size; give one"),
    ],
)
def test_a_sweep_over_cycles_takes_no_costs(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    costs = costs_of_bert(tmp_path)
    with pytest.raises(InputError, match=said):
        spmopt.sweep(
            "bert-tiny", ["belady"], machine="small-npu", costs=costs, **{**NETWORK, **change}
        )


@pytest.mark.parametrize(
    "field", ['"array.rows" = [8, 16]', '"vector.lanes" = [8, 16]', "cores = [1, 2]"]
)
def test_a_search_over_cycles_takes_no_costs(tmp_path: Path, field: str) -> None:
    costs = costs_of_bert(tmp_path)
    (tmp_path / "s.toml").write_text(SPACE.format(field))
    with pytest.raises(InputError, match=r"costs.csv: its cycles are fixed; take .* out of the"):
        spmopt.tune("bert-tiny", tmp_path / "s.toml", costs=costs, workers=0, **NETWORK)


def test_costs_of_a_sweep_name_operations_of_its_network(tmp_path: Path) -> None:
    costs = write(tmp_path, [{"operation": "nobody", "cycles": 1}], "csv")
    output = tmp_path / "rows.csv"
    with pytest.raises(InputError, match="no operation called 'nobody'"):
        spmopt.sweep(
            "bert-tiny", ["belady"], machine="small-npu", costs=costs, output=output, **NETWORK
        )
    assert not output.exists()
