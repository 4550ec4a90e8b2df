"""Topology files: the layers of a network, one a line.

Two dialects, told apart by the first line, which names the columns:

* convolution: ``Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels,
  Num Filter, Strides`` or, for the last, ``Stride height, Stride width``;
* product: ``Layer, M, N, K``.

As in SCALE-Sim (``scalesim/topology_utils.py``) columns count by position, a ``DP`` in the name
of a convolution marks a depth-wise one (as many products of one channel as it has channels), and
blank lines are passed over. SCALE-Sim drops whatever follows the last comma of a line; here the
comma at the end may be left out, and what else there may be is a comment with ``#`` or a
sparsity, of which only a dense one (``4:4``) is accepted.
"""

from __future__ import annotations

import re
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.tiles.layer import Convolution, Layer
from spmopt.tiles.scalesim.text import positive, read_text

_CONVOLUTION = (
    "IFMAP height",
    "IFMAP width",
    "filter height",
    "filter width",
    "channels",
    "number of filters",
    "stride",
    "stride width",
)
_PRODUCT = ("M", "N", "K")
_HEADERS = "'Layer, M, N, K,' or 'Layer name, IFMAP Height, ..., Num Filter, Strides,'"
_SPARSITY = re.compile(r"([0-9]+):([0-9]+)")
_DEPTH_WISE = "DP"


def read_topology(path: Path, batch: int = 1) -> tuple[Layer, ...]:
    """Layers of a file as matrix products, each for ``batch`` of what the file describes.

    Raises
    ------
    InputError
        The file cannot be read, or a line of it cannot be used.
    """
    return parse_topology(read_text(path, "a SCALE-Sim topology"), str(path), batch)


def parse_topology(text: str, where: str = "topology", batch: int = 1) -> tuple[Layer, ...]:
    """Layers of the text of a file; ``where`` begins each error."""
    if batch < 1:
        raise InputError(f"batch {batch}: must be at least 1")
    header, *lines = text.splitlines() or [""]
    products = _is_product(header, where)
    layers = []
    for number, line in enumerate(lines, start=2):
        cells = [cell.strip() for cell in line.partition("#")[0].split(",")]
        if not any(cells):
            continue
        try:
            if products:
                layers.append(_product(cells, batch))
            else:
                layers.append(_convolution(cells).im2col(batch))
        except InputError as error:
            raise InputError(f"{where}, line {number}: {error}") from None
    if not layers:
        raise InputError(f"{where}: no layer follows the first line; write one a line")
    return tuple(layers)


def _is_product(header: str, where: str) -> bool:
    names = [cell.strip().lower() for cell in header.split(",")][1:]
    found = {name: place for place, name in enumerate(names)}
    if any("ifmap" in name for name in names):
        return False
    if {"m", "n", "k"} <= set(found):
        if names[:3] != ["m", "n", "k"]:
            raise InputError(
                f"{where}, line 1: the columns are {', '.join(names[:3]).upper()}; SCALE-Sim "
                "reads M, N, K in this order: reorder them"
            )
        return True
    raise InputError(f"{where}, line 1: names no columns of a topology; write {_HEADERS}")


def _product(cells: list[str], batch: int) -> Layer:
    m, n, k = _numbers(cells, _PRODUCT, least=3)
    return Layer(name=cells[0], m=batch * m, k=k, n=n)


def _convolution(cells: list[str]) -> Convolution:
    numbers = _numbers(cells, _CONVOLUTION, least=7)
    *ifmap_and_filter, channels, filters, stride_height = numbers[:7]
    depth_wise = _DEPTH_WISE in cells[0]
    ifmap_height, ifmap_width, filter_height, filter_width = ifmap_and_filter
    return Convolution(
        name=cells[0],
        ifmap_height=ifmap_height,
        ifmap_width=ifmap_width,
        filter_height=filter_height,
        filter_width=filter_width,
        channels=1 if depth_wise else channels,
        filters=filters,
        stride_height=stride_height,
        stride_width=numbers[-1],
        groups=channels if depth_wise else 1,
    )


def _numbers(cells: list[str], names: tuple[str, ...], least: int) -> list[int]:
    """Sizes of a line in the order of ``names``, of which the first ``least`` must be there."""
    if not cells[0]:
        raise InputError("the layer has no name; begin the line with one")
    given = [cell for cell in cells[1:] if not _is_dense(cell)]
    while given and not given[-1]:
        given.pop()
    if len(given) < least:
        raise InputError(
            f"layer {cells[0]}: {len(given)} numbers, but {least} are needed; "
            f"add {names[len(given)]}"
        )
    if len(given) > len(names):
        raise InputError(
            f"layer {cells[0]}: {len(given)} numbers, but at most {len(names)} can be used; "
            f"remove those after {names[-1]}"
        )
    pairs = zip(given, names, strict=False)
    return [positive(cell, f"layer {cells[0]}: {name}") for cell, name in pairs]


def _is_dense(cell: str) -> bool:
    """Whether the cell is a sparsity that keeps everything."""
    ratio = _SPARSITY.fullmatch(cell)
    if ratio is None:
        return False
    if int(ratio[1]) != int(ratio[2]):
        raise InputError(f"sparsity {cell} is not modelled; remove it or write 1:1")
    return True
