"""SCALE-Sim topologies: both dialects, im2col by hand, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.tiles.layer import Layer
from spmopt.tiles.scalesim import parse_topology, read_topology
from spmopt.tiles.window import Window

CONVOLUTION = (
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,\n"
)
PRODUCT = "Layer, M, N, K,\n"


def test_convolutions() -> None:
    text = (
        CONVOLUTION
        + ",,,,,,,\n"
        + "Conv1     ,224       ,220      ,11         ,7        ,3     ,96      ,4    ,\n"
        + "\n"
        + "\tlast, 14, 14, 3, 3, 512, 8, 1\n"
    )
    first, second = parse_topology(text)
    # ceil((224 - 11) / 4) + 1 = 55 rows of windows, the last one partly outside;
    # ceil((220 - 7) / 4) + 1 = 55 columns.
    wide = Window(image=(224, 220), kernel=(11, 7), output=(55, 55), strides=(4, 4))
    assert first == Layer(name="Conv1", m=55 * 55, k=11 * 7 * 3, n=96, window=wide)
    near = Window(image=(14, 14), kernel=(3, 3), output=(12, 12))
    assert second == Layer(name="last", m=12 * 12, k=9 * 512, n=8, window=near)
    assert (first.kernel, second.kernel) == (77, 9)


@pytest.mark.parametrize(
    ("ifmap", "window", "stride", "outputs"),
    [(5, 3, 1, 3), (5, 3, 2, 2), (6, 3, 2, 3), (7, 7, 3, 1), (8, 1, 3, 4), (10, 2, 3, 4)],
)
def test_windows_partly_inside_count(ifmap: int, window: int, stride: int, outputs: int) -> None:
    # SCALE-Sim: ceil((ifmap - filter + stride) / stride).
    line = f"c,{ifmap},1,{window},1,1,1,{stride},9,\n"
    assert parse_topology(CONVOLUTION + line)[0].m == outputs


def test_two_strides() -> None:
    (layer,) = parse_topology(CONVOLUTION + "c,9,9,1,1,2,5,2,4,\n")
    assert layer == Layer(name="c", m=5 * 3, k=2, n=5)


def test_depth_wise_by_name_is_a_product_for_each_channel() -> None:
    (layer,) = parse_topology(CONVOLUTION + "DP_2,6,6,3,3,32,1,1,\n")
    window = Window(image=(6, 6), kernel=(3, 3), output=(4, 4))  # of each channel
    assert layer == Layer(name="DP_2", m=16, k=9, n=1, groups=32, window=window)


def test_products_in_the_order_m_n_k() -> None:
    text = PRODUCT + "L0,196,192,384,\nL1,1,2,3\nL2, 4, 5, 6, 2:2,\n\n"
    assert parse_topology(text) == (
        Layer(name="L0", m=196, n=192, k=384),
        Layer(name="L1", m=1, n=2, k=3),
        Layer(name="L2", m=4, n=5, k=6),
    )


def test_comments_and_windows_line_ends() -> None:
    text = (CONVOLUTION + "c2_dw, 112, 112, 3, 3, 1, 1, 1,#dw\n").replace("\n", "\r\n")
    window = Window(image=(112, 112), kernel=(3, 3), output=(110, 110))
    assert parse_topology(text) == (Layer(name="c2_dw", m=110 * 110, k=9, n=1, window=window),)


def test_batch_multiplies_rows() -> None:
    assert parse_topology(PRODUCT + "a,3,2,5,\n", batch=4)[0].m == 12
    assert parse_topology(CONVOLUTION + "a,3,3,2,2,1,1,1,\n", batch=4)[0].m == 16


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "f.csv, line 1: names no columns of a topology; write 'Layer, M, N, K,' or"),
        ("L0,1,2,3,\n", "f.csv, line 1: names no columns of a topology"),
        ("Layer,M,K,N,\n", "f.csv, line 1: the columns are M, K, N; SCALE-Sim reads M, N, K"),
        (PRODUCT, "f.csv: no layer follows the first line"),
        (PRODUCT + "a,1,2,\n", "f.csv, line 2: layer a: 2 numbers, but 3 are needed; add K"),
        (PRODUCT + "a,1,2,3,4,\n", "line 2: layer a: 4 numbers, but at most 3 can be used"),
        (PRODUCT + "a,1,2,3,\n\nb,1,0,3,\n", "line 4: layer b: N is '0'; write a whole number"),
        (PRODUCT + "a,1,,3,\n", "line 2: layer a: N is missing; write a whole number"),
        (PRODUCT + "a,1,2.5,3,\n", "line 2: layer a: N is '2.5'"),
        (PRODUCT + "a,1,-2,3,\n", "line 2: layer a: N is '-2'"),
        (PRODUCT + "a,1,²,3,\n", "line 2: layer a: N is '²'"),
        (PRODUCT + ",1,2,3,\n", "line 2: the layer has no name"),
        (PRODUCT + "a,1,2,3,2:4,\n", "line 2: sparsity 2:4 is not modeled; remove it"),
        (CONVOLUTION + "c,3,3,4,1,1,1,1,\n", "line 2: layer c: filter height 4 is above ifmap"),
        (CONVOLUTION + "c,3,3,1,1,1,1,\n", "line 2: layer c: 6 numbers, but 7 are needed; add str"),
        (CONVOLUTION + "c,3,3,1,1,1,1,1,1,1,\n", "layer c: 9 numbers, but at most 8 can be used"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "f.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_topology(path)
    assert error in str(raised.value)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read .*name a SCALE-Sim topology"):
        read_topology(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"binary\.csv: not a text file"):
        read_topology(tmp_path / "binary.csv")


@pytest.mark.parametrize("what", ["m", "k", "n", "groups"])
def test_layers_of_size_0_are_refused(what: str) -> None:
    sizes: Any = {"m": 1, "k": 1, "n": 1, "groups": 1} | {what: 0}
    with pytest.raises(InputError, match=f"layer a: {what} is 0; every size must be at least 1"):
        Layer(name="a", **sizes)


def test_convolutions_of_stride_0_are_refused() -> None:
    with pytest.raises(InputError, match="layer a: stride width is '0'"):
        parse_topology(CONVOLUTION + "a,3,3,1,1,1,1,1,0,\n")


def test_a_feature_map_too_large_to_count_is_refused_before_memory_is_taken() -> None:
    text = CONVOLUTION + "a, 999999999, 28, 8, 3, 8, 16, 8,\n"
    with pytest.raises(InputError, match=r"line 2: a kernel of 24 positions on 625000000 output"):
        parse_topology(text)
