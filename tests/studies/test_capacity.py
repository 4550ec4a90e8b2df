"""The study of capacities on rows made up by hand."""

from itertools import product
from pathlib import Path

import pytest

from spmopt.studies.capacity import FINE, TABLE, draw, find, rises
from spmopt.studies.paper import MB
from spmopt.studies.rows import Rows
from spmopt.sweep.rows import Row

# GB by capacity in MB; tsai takes twice the bound, and once more than before.
BOUND = {24: 10.0, 64: 8.0, 128: 6.0, 256: 4.0, 500: 3.0, 1000: 2.0}


def made_up() -> Rows:
    rows: list[Row] = []
    for (size, least), objective in product(BOUND.items(), ("time", "traffic")):
        for scheduler, factor in (("tsai", 2.0), ("msa", 1.5), ("page", 1.0), ("fluid", 1.0)):
            if scheduler in ("tsai", "msa") and objective == "traffic":
                continue
            spent = factor * least * (3 if (scheduler, size) == ("tsai", 128) else 1)
            rows.append(
                {
                    "network": "resnet50",
                    "spm_bytes": size * MB,
                    "scheduler": scheduler,
                    "objective": objective,
                    "time_s": spent / 1e3,
                    "traffic_bytes": int(spent * 1e9),
                    "bound": least / 1e3 if objective == "time" else least * 1e9,
                }
            )
    return Rows(rows)


def test_tables_and_sentences() -> None:
    found = find(made_up(), {})
    time, traffic, steps = found.sheets
    assert time.rows[0] == ["ResNet-50", "24 MB", "20", "15", "10", "10"]
    assert traffic.rows[2] == ["ResNet-50", "128 MB", "36", "9", "6", "6"]
    at = ["1 of 5", "125.0 % at 128 MB"]
    assert steps.rows == [
        ["ResNet-50", "tsai", *at, *at],
        ["ResNet-50", "msa", "0 of 5", "-", "0 of 5", "-"],
        ["ResNet-50", "bound", "0 of 5", "-", "0 of 5", "-"],
    ]
    assert found.sentences[0] == (
        "At worst, time is above the bound of the listed order by tsai 500.0 % (ResNet-50 at "
        "128 MB) and msa 50.0 % (ResNet-50 at 1 GB)."
    )
    assert found.sentences[1].startswith(
        "Of 5 steps to a larger scratchpad, these raise the traffic: 1 of tsai (by up to 125.0 %), "
        "0 of msa and 0 of the bound. "
    )
    assert found.sentences[2].endswith("within tsai's time at 500 MB: ResNet-50 128 MB (of 6).")


def test_rises() -> None:
    assert rises({1: 2.0, 3: 2.0, 2: 1.0}) == [(3, 2.0)]
    assert set(TABLE) <= set(FINE)


def test_picture(tmp_path: Path) -> None:
    path = tmp_path / "capacity.png"
    draw(made_up(), {}, path)
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(head[16:20]) == pytest.approx(1200)
