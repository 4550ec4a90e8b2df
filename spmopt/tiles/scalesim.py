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
from spmopt.core.validation import read_text
from spmopt.tiles.layer import Layer
from spmopt.tiles.window import Window

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
    """Read layers of a file as matrix products, each for ``batch`` images.

    Raises
    ------
    InputError
        The file cannot be read, or a line of it cannot be used.
    """
    return parse_topology(read_text(path, advice="name a SCALE-Sim topology"), str(path), batch)


def parse_topology(text: str, where: str = "topology", batch: int = 1) -> tuple[Layer, ...]:
    """Read layers of the text of a file; ``where`` begins each error."""
    if batch < 1:
        raise InputError(f"batch {batch}: must be at least 1")
    header, *lines = text.splitlines() or [""]
    read = _product if _is_product(header, where) else _convolution
    layers = []
    for number, line in enumerate(lines, start=2):
        cells = [cell.strip() for cell in line.partition("#")[0].split(",")]
        if not any(cells):
            continue
        try:
            layers.append(read(cells, batch))
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


def _convolution(cells: list[str], batch: int) -> Layer:
    """Make the matrix product by im2col: one row a window, one column a filter.

    There is no padding: zeros of the network are part of the feature map. A window that the
    stride leaves only partly inside the feature map counts as a whole one (SCALE-Sim rounds up).
    """
    numbers = _numbers(cells, _CONVOLUTION, least=7)
    *ifmap, filter_height, filter_width, channels, filters = numbers[:6]
    rows, filter_size = batch, filter_height * filter_width
    strides, output = (numbers[6], numbers[-1]), []
    sides = zip(("height", "width"), ifmap, numbers[2:4], strides, strict=True)
    for side, length, window, stride in sides:
        if window > length:
            raise InputError(
                f"layer {cells[0]}: filter {side} {window} is above ifmap {side} {length}; "
                "add the padding to the ifmap"
            )
        output.append(-(-(length - window) // stride) + 1)
        rows *= output[-1]
    depth_wise = _DEPTH_WISE in cells[0]
    slides = Window(
        image=(ifmap[0], ifmap[1]),
        kernel=(filter_height, filter_width),
        output=(output[0], output[1]),
        strides=strides,
    )
    return Layer(
        name=cells[0],
        m=rows,
        k=filter_size if depth_wise else filter_size * channels,
        n=filters,
        groups=channels if depth_wise else 1,
        kernel=1 if slides.is_plain else filter_size,
        window=None if slides.is_plain else slides,
    )


def _numbers(cells: list[str], names: tuple[str, ...], least: int) -> list[int]:
    """Read sizes of a line in the order of ``names``; the first ``least`` must be there."""
    if not cells[0]:
        raise InputError("the layer has no name; begin the line with one")
    # A sparsity may stand in any column.
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
    """Return whether the cell is a sparsity that keeps everything."""
    ratio = _SPARSITY.fullmatch(cell)
    if ratio is None:
        return False
    if int(ratio[1]) != int(ratio[2]):
        raise InputError(f"sparsity {cell} is not modeled; remove it or write 1:1")
    return True


_WHOLE = re.compile(r"[0-9]{1,15}")


def positive(text: str, what: str) -> int:
    """Read a whole number of at least 1.

    Raises
    ------
    InputError
        It is none; ``what`` names it.
    """
    if _WHOLE.fullmatch(text) is None or int(text) < 1:
        shown = repr(text) if text else "missing"
        raise InputError(f"{what} is {shown}; write a whole number of at least 1")
    return int(text)
