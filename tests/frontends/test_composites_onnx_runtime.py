"""Operators of ONNX Runtime and other domains: taken apart, or refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.graph.folding import fold
from spmopt.graph.lower import lower

from .figures import MACHINE, macs, moving, output_shapes, parameters
from .models import Array, Shapes, floats, graph_of, ints

MICROSOFT: dict[str, Any] = {"domain": "com.microsoft"}

MICROSOFT_CASES: list[tuple[str, Shapes, dict[str, Array], dict[str, Any], list[Any], int]] = [
    ("Gelu", {"x": [2, 8]}, {}, {}, [(2, 8)], 0),
    ("FastGelu", {"x": [2, 8]}, {"b": floats(8)}, {}, [(2, 8)], 0),
    ("QuickGelu", {"x": [2, 8]}, {}, {}, [(2, 8)], 0),
    ("BiasGelu", {"x": [2, 8]}, {"b": floats(8)}, {}, [(2, 8)], 0),
    (
        "FusedMatMul",
        {"x": [2, 3, 8]},
        {"w": floats(2, 5, 8)},
        {"transB": 1},
        [(2, 3, 5)],
        2 * 3 * 5 * 8,
    ),
    ("FusedMatMul", {"x": [2, 3, 8]}, {"w": floats(5, 8)}, {"transB": 1}, [(2, 3, 5)], 240),
    ("FusedGemm", {"x": [3, 8]}, {"w": floats(8, 5)}, {"activation": "Relu"}, [(3, 5)], 120),
    (
        "FusedConv",
        {"x": [1, 4, 8, 8]},
        {"w": floats(6, 4, 3, 3)},
        {"activation": "Relu", "kernel_shape": [3, 3]},
        [(1, 6, 6, 6)],
        36 * 6 * 36,
    ),
    (
        "SkipLayerNormalization",
        {"x": [2, 3, 8], "s": [2, 3, 8]},
        {"g": floats(8), "b": floats(8)},
        {},
        [(2, 3, 8)],
        0,
    ),
    (
        "SkipSimplifiedLayerNormalization",
        {"x": [2, 3, 8], "s": [2, 3, 8]},
        {"g": floats(8)},
        {},
        [(2, 3, 8)],
        0,
    ),
    (
        "MultiHeadAttention",
        {"q": [2, 5, 32], "k": [2, 6, 32], "v": [2, 6, 32]},
        {"b": floats(96)},
        {"num_heads": 4},
        [(2, 5, 32)],
        2 * 2 * 5 * 6 * 32,
    ),
    (
        "Attention",
        {"x": [2, 5, 32]},
        {"w": floats(32, 96), "b": floats(96)},
        {"num_heads": 4},
        [(2, 5, 32)],
        10 * 32 * 96 + 2 * 2 * 5 * 5 * 32,
    ),
    (
        "MatMulNBits",
        {"x": [2, 3, 64]},
        {"w": np.zeros((48, 2, 16), np.uint8), "s": floats(96)},
        {"K": 64, "N": 48, "bits": 4, "block_size": 32},
        [(2, 3, 48)],
        6 * 64 * 48,
    ),
    (
        "DynamicQuantizeMatMul",
        {"x": [2, 3, 8]},
        {"w": np.zeros((8, 5), np.int8), "s": floats(1)},
        {},
        [(2, 3, 5)],
        240,
    ),
]


@pytest.mark.parametrize(
    ("operator", "inputs", "constants", "attributes", "shapes", "work"), MICROSOFT_CASES
)
def test_operators_of_onnx_runtime(
    tmp_path: Path,
    *,
    operator: str,
    inputs: Shapes,
    constants: dict[str, Array],
    attributes: dict[str, Any],
    shapes: list[Any],
    work: int,
) -> None:
    graph = graph_of(tmp_path, operator, inputs, constants, **MICROSOFT, **attributes)
    assert output_shapes(graph) == shapes
    assert macs(graph) == work
    lower(fold(graph), MACHINE)


def test_grouped_queries_turn_and_extend_their_cache(tmp_path: Path) -> None:
    inputs: Shapes = {
        "q": [2, 3, 64],
        "k": [2, 3, 32],
        "v": [2, 3, 32],
        "pk": [2, 2, 5, 16],
        "pv": [2, 2, 5, 16],
    }
    constants: dict[str, Array] = {
        **{"lengths": ints(7, 7), "total": ints(8)},
        **{"cos": floats(32, 8), "sin": floats(32, 8)},
    }
    graph = graph_of(
        tmp_path,
        "GroupQueryAttention",
        inputs,
        constants,
        outputs=["y", "present_k", "present_v"],
        **MICROSOFT,
        num_heads=4,
        kv_num_heads=2,
        do_rotary=1,
    )
    assert sorted(output_shapes(graph)) == [(2, 2, 8, 16), (2, 2, 8, 16), (2, 3, 64)]
    assert macs(graph) == 2 * 2 * 4 * 3 * 8 * 16
    assert moving(graph)["RotaryEmbedding"] == 2


def test_a_refused_operator_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"QOrderedMatMul: .* quantize with QDQ instead"):
        graph_of(tmp_path, "QOrderedMatMul", {"x": [2, 4]}, **MICROSOFT)


@pytest.mark.parametrize("operator", ["RequantShift", "ai.onnx.contrib.RequantShift"])
def test_a_requantization_is_point_wise_and_its_factors_are_not_trained(
    tmp_path: Path, operator: str
) -> None:
    domain, _, name = operator.rpartition(".")
    constants: dict[str, Array] = {"mul": floats(4), "add": floats(4)}
    graph = graph_of(tmp_path, name, {"x": [2, 3, 4]}, constants, domain=domain, div=256, signed=1)
    assert (output_shapes(graph), macs(graph), parameters(graph)) == ([(2, 3, 4)], 0, 0)
