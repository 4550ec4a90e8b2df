"""The command that compares orders of gradients in tiles."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from spmopt.tiles import batch
from spmopt.tiles.batch import Found
from spmopt.tiles.case import LayerCase
from spmopt.tiles.order import ORDERS
from tests.cli.run import Run
from tests.cli.test_failures import refused

TOPOLOGIES = Path(__file__).parents[2] / "instances" / "scalesim"
README = TOPOLOGIES.parents[1] / "spmopt" / "tiles" / "README.md"
LENET, ENCODER = TOPOLOGIES / "lenet5.csv", TOPOLOGIES / "encoder.csv"
SMALL = "--spm 64KiB --page 512B --jobs 1"
GEMM = f"--gemm 90x120x100 {SMALL}"
PRODUCT = "Layer, M, N, K,\n"


def test_orders_of_the_paper_are_compared(run: Run) -> None:
    record = run(f"tiles {ENCODER} {SMALL} --json").record
    assert len(record["rows"]) == 4 * 5  # query, key to attention, wide, narrow
    assert [row["order"] for row in record["rows"][:5]] == [*ORDERS, "algorithm-1"]
    assert [(row["layer"], row["count"]) for row in record["rows"][::5]] == [
        ("query", 1),
        ("key", 3),
        ("wide", 1),
        ("narrow", 1),
    ]
    assert [row["input_gradient"] for row in record["rows"][::5]] == [False, True, True, True]
    assert {row["order_run"] for row in record["rows"]} <= set(ORDERS)


def test_totals_are_sums(run: Run) -> None:
    record = run(f"tiles {ENCODER} {SMALL} --order sequential,best --json").record
    for each in record["totals"]:
        rows = [row for row in record["rows"] if row["order"] == each["order"]]
        for figure in ("traffic_bytes", "makespan_cycles", "dY_read_bytes"):
            assert each[figure] == sum(row["count"] * row[figure] for row in rows)


def test_convolutions_and_batch(run: Run) -> None:
    record = run(f"tiles {LENET} {SMALL} --batch 3 --order dx-major --json").record
    sizes = [(row["m"], row["k"], row["n"]) for row in record["rows"]]
    assert sizes == [
        (3 * 28 * 28, 25, 6),
        (3 * 10 * 10, 150, 16),
        (3, 400, 120),
        (3, 120, 84),
        (3, 84, 10),
    ]
    assert [row["input_gradient"] for row in record["rows"]] == [False, True, True, True, True]
    whole = run(f"tiles {LENET} {SMALL} --order dx-major --all-input-gradients --json").record
    assert all(row["input_gradient"] for row in whole["rows"])


def test_the_table_says_the_same_as_the_record(run: Run) -> None:
    line = f"tiles {ENCODER} {SMALL} --order sequential,dx-major"
    record, out = run(f"{line} --json").record, run(line).out
    head, _, columns, *rows = out.splitlines()
    assert head.startswith("encoder.csv, batch 1 (6 layers, 4 sizes) on small-npu: SPM 64 KiB")
    assert columns.split("   ")[0] == "layer"
    found = [row for row in rows[:8] if row]
    for text, row in zip(found, record["rows"], strict=True):
        times = f" x{row['count']}" if row["count"] > 1 else ""
        assert text.startswith(f"{row['layer']}{times} ")
        tile = f"{row['tile_m']}x{row['tile_k']}x{row['tile_n']}"
        assert {tile, row["order"], row["bound_by"]} <= set(text.split())
        assert f"{row['traffic_bytes'] / row['compulsory_bytes']:.2f}" in text.split()
    assert [line.split()[:2] for line in rows[8:10]] == [
        ["total", "sequential"],
        ["total", "dx-major"],
    ]
    assert "No dX, which nothing needs: query." in out


def test_rows_in_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"

    line = f"tiles {LENET} {SMALL} --replacement lru,belady --order sequential,dx-major"
    record = run(f"{line} -o {path} --json").record
    found = list(csv.DictReader(path.read_text().splitlines()[1:]))
    assert len(found) == len(record["rows"]) == 5 * 2 * 2
    for text, row in zip(found, record["rows"], strict=True):
        assert list(text) == list(row)
        assert text["makespan_cycles"] == str(row["makespan_cycles"])
        assert float(text["gap"]) == row["gap"]


def test_what_is_not_counted_as_it_seems_is_said(run: Run) -> None:
    line = "tiles bert-tiny --batch 1 --order sequential --jobs 1"
    out = run(line).out
    assert (
        "4 products of two activations left out, which have no weight gradient: "
        "layer0.self.scores, layer0.self.context, layer1.self.scores and 1 more; "
        "--products-of-activations includes them."
    ) in out.splitlines()
    record = run(f"{line} --products-of-activations --json").record
    assert record["notes"] == []
    rows = {row["layer"]: row for row in record["rows"]}
    scores = rows["layer0.self.scores"]
    assert [scores[name] for name in ("m", "k", "n", "groups", "count")] == [128, 64, 128, 2, 2]
    assert scores["input_gradient"]
    (note,) = run(f"tiles {LENET} {SMALL} --order sequential --json").record["notes"]
    assert note.startswith("tiles of X and dX hold each element of the feature map once")
    assert note.endswith("C1, C3")  # the kernel of C5 is all of its map
    (note,) = run(f"tiles {LENET} {SMALL} --order sequential --im2col --json").record["notes"]
    assert note.startswith("convolutions are products of im2col rows: X")
    assert note.endswith("C1, C3")


def test_page_gives_a_gap_of_the_order(run: Run) -> None:
    # Any schedule will do, and the optimum of residency takes long.
    asked = f"tiles {GEMM} --order dw-major --time-limit 0.3"
    record = run(f"{asked} --replacement residency,belady --json").record
    page, belady = record["rows"]
    assert page["order_gap"] >= 0
    assert belady["order_gap"] is None
    assert page["makespan_cycles"] <= belady["makespan_cycles"]
    out = run(f"{asked} --replacement residency").out
    assert "gap of order" in out.splitlines()[2]


def test_cores_cut_the_batch_unless_told(run: Run) -> None:
    record = run(f"tiles {GEMM} --cores 2 --order sequential --json").record
    (row,) = record["rows"]
    assert (row["cores"], row["partition"], row["spm_bytes"]) == (2, "m/2", 2 * 65536)
    (row,) = run(f"tiles {GEMM} --cores 2 --order sequential --partition best --json").record[
        "rows"
    ]
    assert re.fullmatch("[mkn]/2", row["partition_run"])
    assert "2 cores in lock-step" in run(f"tiles {GEMM} --cores 2 --order sequential").out


def test_layers_of_one_name_are_told_apart(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "layers.csv"
    path.write_text(f"{PRODUCT}a,40,40,40,\n\nb,9,9,9,\na,80,90,70,\na,40,40,40,\nb,9,9,9,\n")
    line = f"tiles {path} {SMALL} --order sequential,interleaved --all-input-gradients"
    rows = run(f"{line} --json -o {tmp_path / 'rows.csv'}").record["rows"]
    names = ["a (line 2)", "b", "a (line 5)"]
    assert [(row["layer"], row["count"]) for row in rows[::2]] == [
        *zip(names, (2, 2, 1), strict=True)
    ]
    found = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()[1:]))
    assert [row["layer"] for row in found] == [row["layer"] for row in rows]
    shown = run(line).out.splitlines()[3:9]
    assert [text.split("   ")[0] for text in shown[::2]] == ["a (line 2) x2", "b x2", "a (line 5)"]
    place = run(line).out.splitlines()[2].index("vs first") + len("vs first") - 1
    assert [text[place] == "-" for text in shown] == [True, False] * 3


def test_the_readme_shows_what_is_printed(run: Run) -> None:
    text = README.read_text(encoding="utf-8")
    found = re.search(r"```console\n\$ spmopt (tiles .*?),page\n(.*?)```", text, re.DOTALL)
    assert found is not None
    shown = [re.split(r"\s{2,}", line) for line in found[2].splitlines() if "double-buffer" in line]
    printed = run(f"{found[1]} --jobs 1").out.splitlines()
    assert found[2].splitlines()[0] == printed[0]
    rows = [re.split(r"\s{2,}", line) for line in printed if "double-buffer" in line]
    assert len(rows) == 4
    assert [[*row[:10], *row[11:]] for row in shown] == rows  # without the gap of the order


def test_ctrl_c_keeps_what_was_found(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = batch.run_all

    def pressed(*arguments: Any) -> Iterator[list[Found]]:
        for number, some in enumerate(whole(*arguments)):
            yield some
            if number > 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(batch, "run_all", pressed)
    path, line = tmp_path / "rows.csv", f"tiles {LENET} {SMALL} --order sequential,dx-major"
    ran = run(f"{line} -o {path}")
    assert ran.code == 130
    rows = len(path.read_text().splitlines()) - 2
    assert 0 < rows < 10
    assert ran.err == (
        f"interrupted: {rows} of 10 rows are in {path}: the same command goes on from there\n"
    )
    assert "total" not in ran.out
    assert len([line for line in ran.out.splitlines() if " double-buffer " in line]) == rows
    asked: list[int] = []

    def counting(cases: Sequence[LayerCase], *arguments: Any) -> Iterator[list[Found]]:
        asked.append(len(cases))
        return whole(cases, *arguments)

    monkeypatch.setattr(batch, "run_all", counting)
    again = run(f"{line} -o {path}")
    anew = run(f"{line} -o {tmp_path / 'other.csv'}")
    assert asked == [10 - rows, 10]
    assert again.out == anew.out
    untimed = [
        [{**row, "solve_s": ""} for row in csv.DictReader(each.read_text().splitlines()[1:])]
        for each in (path, tmp_path / "other.csv")
    ]
    assert untimed[0] == untimed[1]
    assert run(f"{line} -o {path}").out == anew.out
    assert asked == [10 - rows, 10, 0]


def test_a_file_of_other_rows_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    assert run(f"tiles {GEMM} --order sequential -o {path}").code == 0
    head, names, row = path.read_text().splitlines()
    cells = row.split(",")
    cells[names.split(",").index("products")] = ""
    broken = tmp_path / "broken.csv"
    broken.write_text("\n".join([head, names, ",".join(cells), ""]))
    said = f"{broken}: row of 90x120x100: products is None, no whole number; remove the line"
    assert said in refused(run(f"tiles {GEMM} --order sequential -o {broken}"))
    said = "was made by another sweep (order, cases differ); name another file, or remove it"
    assert said in refused(run(f"tiles {GEMM} --order dx-major -o {path}"))
    assert run(f"tiles {GEMM} --tile 90x120x100 --spm 8KiB -o {tmp_path / 'none.csv'}").code == 2
    assert not (tmp_path / "none.csv").exists()
