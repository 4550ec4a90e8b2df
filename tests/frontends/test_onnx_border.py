"""Whatever a file holds, the importer says what is wrong in one line, soon and in little memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import import load_onnx, wire

from .figures import moving
from .models import fails, floats, model, saved

make_node = helper.make_node
RELU = make_node("Relu", ["x"], ["y"])


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    fails(pipe, "is no regular file")
    fails(Path("/dev/zero"), "is no regular file")


def _doubling(levels: int, last: str) -> onnx.ModelProto:
    """Return a model whose functions call the next one twice each."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    made = model([make_node("F0", ["x"], ["y"], domain="own")], {"x": [2]})
    made.opset_import.append(helper.make_opsetid("own", 1))
    for level in range(levels):
        name = f"F{level + 1}" if level + 1 < levels else last
        domain = "own" if name.startswith("F") else ""
        nodes = [
            make_node(name, ["a"], ["b"], domain=domain),
            make_node(name, ["b"], ["c"], domain=domain),
        ]
        made.functions.append(
            helper.make_function("own", f"F{level}", ["a"], ["c"], nodes, imports)
        )
    return made


def test_local_functions_that_grow_beyond_measure(tmp_path: Path) -> None:
    small = saved(tmp_path, _doubling(3, "Relu"))
    assert moving(load_onnx(small)) == {"Relu": 8}
    path = saved(tmp_path, _doubling(32, "Relu"))
    assert path.stat().st_size < 4000
    script = f"from spmopt.frontends.onnx_import import load_onnx; load_onnx({str(path)!r})"
    child = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert "over 20000 nodes once its local functions are written out" in child.stderr
    fails(saved(tmp_path, _doubling(2, "F0")), "a local function calls itself")


def test_operator_set_that_does_not_exist(tmp_path: Path) -> None:
    made = model([RELU], {"x": [2]})
    made.opset_import[0].version = 1 << 40
    fails(saved(tmp_path, made), "operator set ai.onnx has version 1099511627776")


@pytest.mark.parametrize("operator", ["Shape", "Size", "Constant", "Identity", "Loop", "If"])
def test_nodes_without_inputs(tmp_path: Path, operator: str) -> None:
    nodes = [make_node(operator, [], ["n"]), make_node("Reshape", ["x", "n"], ["y"])]
    fails(saved(tmp_path, model(nodes, {"x": [2]})), rf"\({operator}\)")


def test_elements_that_are_text(tmp_path: Path) -> None:
    nodes = [make_node("Identity", ["x"], ["y"])]
    made = model(nodes, {"x": [2]}, element_type=TensorProto.STRING)
    fails(saved(tmp_path, made), "element type STRING")


def test_sizes_beyond_any_machine(tmp_path: Path) -> None:
    fails(saved(tmp_path, model([RELU], {"x": [1 << 40, 1 << 40]})), "larger than any machine")
    fails(saved(tmp_path, model([RELU], {"x": [1] * 40})), "40 axes")


def test_weights_are_not_read(tmp_path: Path) -> None:
    weights = {"w": np.ones((512, 512), np.float32), "b": floats(512)}
    nodes = [make_node("MatMul", ["x", "w"], ["h"]), make_node("Add", ["h", "b"], ["y"])]
    path = saved(tmp_path, model(nodes, {"x": [2, 512]}, weights))
    assert path.stat().st_size > 1 << 20
    kept = wire.without_weights(path)
    assert len(kept) < 4096
    whole, read = onnx.load(path), onnx.ModelProto.FromString(kept)
    whole.graph.initializer[0].ClearField("raw_data")
    assert read == whole


def test_too_much_beside_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_KEPT", 50)
    fails(saved(tmp_path, model([RELU], {"x": [2]})), "beside its weights")


def test_every_single_byte_may_be_wrong(tmp_path: Path) -> None:
    body = helper.make_graph(
        [make_node("Add", ["h", "slice"], ["h2"])],
        "body",
        [helper.make_tensor_value_info(name, 1, None) for name in ("h", "slice")],
        [helper.make_tensor_value_info("h2", 1, None)],
    )
    nodes = [
        make_node("Scan", ["h0", "x"], ["s"], body=body, num_scan_inputs=1),
        make_node("Gemm", ["s", "w"], ["y"]),
    ]
    made = model(nodes, {"x": [3, 1, 4]}, {"h0": floats(1, 4), "w": floats(4, 2)})
    whole = made.SerializeToString()
    path, random = tmp_path / "model.onnx", np.random.default_rng(7)
    refused = 0
    for place in random.permutation(len(whole))[:150]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << random.integers(8)
        path.write_bytes(damaged)
        try:
            load_onnx(path, warn=lambda _: None)
        except InputError:
            refused += 1
    assert refused > 20
