"""The README of tiles keeps its word: formulas, notation and columns are those of the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spmopt.core.machine import SystolicArray
from spmopt.graph.cycles import systolic_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.tiles.case import ORDER_NAMES
from spmopt.tiles.layer import Layer
from spmopt.tiles.order import format_order, parse_order
from spmopt.tiles.records import COLUMNS
from spmopt.tiles.tiling import MOST_PRODUCTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "spmopt" / "tiles" / "README.md").read_text(encoding="utf-8")


def _columns(section: str) -> list[str]:
    rows = re.findall(r"^\| (`.+?) \|", README.split(section)[1].split("\n## ")[0], re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def test_every_column_is_explained_once() -> None:
    assert sorted(_columns("## Columns")) == sorted(COLUMNS.types)


def test_every_chosen_order_is_explained() -> None:
    plain = README.split("## Orders")[1].split("|")[0]
    named = {*re.findall(r"`([a-z0-9-]+)`", plain), *_columns("## Orders")}
    assert set(ORDER_NAMES) <= named


@pytest.mark.parametrize("sides", [(45, 45), (8, 16)])
@pytest.mark.parametrize("gemm", [Gemm(m=45, k=90, n=46), Gemm(m=7, k=300, n=1)])
@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_cycles(dataflow: str, gemm: Gemm, sides: tuple[int, int]) -> None:
    found = re.search(rf"^\| `{dataflow}`.*\| `(.+)` \|$", README, re.MULTILINE)
    assert found is not None
    factors = re.fullmatch(r"cd\((.), (.)\) \* cd\((.), (.)\) \* \((.+)\)", found[1])
    assert factors is not None
    rows, columns = sides
    size = {"M": gemm.m, "K": gemm.k, "N": gemm.n, "R": rows, "C": columns}
    one, two = (-(-size[factors[i]] // size[factors[i + 1]]) for i in (1, 3))
    length = -2
    for term in factors[5].removesuffix(" - 2").split(" + "):
        times, _, name = term.rpartition(" * ")
        length += int(times or 1) * size[name]
    array = SystolicArray(rows=rows, columns=columns, dataflow=dataflow)
    assert systolic_cycles(array, gemm) == one * two * length


def test_walks_are_read() -> None:
    (order,) = re.findall(r"`(interleaved:\S+)`", README)
    assert format_order(parse_order(order, Layer(name="a", m=4, k=4, n=4))) == order


def test_the_limit() -> None:
    assert f"At most {MOST_PRODUCTS:,} tile products a gradient" in README
    top = (ROOT / "spmopt" / "cli" / "README.md").read_text(encoding="utf-8")
    assert f"up to {MOST_PRODUCTS:,} tile products a gradient" in top
