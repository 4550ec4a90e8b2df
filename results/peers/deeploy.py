"""Deeploy's tiling of its test networks: bytes between L2 and L1, beside ours for the same L1.

Deeploy tiles each layer by a constraint program that fills L1 and bounds nothing; every layer
reads its operands from L2 and writes its result there. Its networks are quantized: a rescaling
follows each product, which Deeploy computes in the product's step. Rescalings, their factors and
Deeploy's transpositions are counted on neither side.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from onnx import shape_inference

import spmopt
from results.peers.cases import ASK, Recorded, ask, figures_of, keep, load, today
from results.shared.bench import BenchLine, Figures
from spmopt.core.errors import InputError
from spmopt.core.problem import Problem

NETWORKS = ("ImageClassification", "KeywordSpotting")
SIZES = (64000, 16000)  # bytes of L1; the first is Deeploy's default
OPERANDS = ("data_in", "data_in_1", "data_in_2", "A", "weight", "B", "C", "data_out")


def problem(path: Path, size: int) -> Problem:
    """Lower a network without its rescalings for a scratchpad of ``size`` bytes."""
    model = onnx.load(str(path))
    renamed, nodes = dict[str, str](), list[Any]()
    for node in model.graph.node:
        if node.op_type == "RequantShift":
            renamed[node.output[0]] = renamed.get(node.input[0], node.input[0])
        else:
            names = [renamed.get(name, name) for name in node.input]
            del node.input[:]
            node.input.extend(names)
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.name = renamed.get(output.name, output.name)
    with TemporaryDirectory() as folder:
        plain = Path(folder, path.parent.name).with_suffix(".onnx")
        onnx.save(shape_inference.infer_shapes(model), str(plain))
        workload = spmopt.load(plain, dtype="int8")
    return spmopt.lower(workload, spmopt.machine(spm=f"{size}B", page="64B"), mapper="tiled")


def peer(network: str, size: int, python: str | None, sources: str | None) -> Figures:
    """Run Deeploy's generator, or return what was recorded."""
    name = f"deeploy-{network.lower()}-{size}"
    if python is None:
        return load(name).shown
    if sources is None:
        raise InputError("--peer: deeploy needs deeploy-sources=FOLDER, a checkout of it")
    tests = f"Tests/Models/MLPerf/{network}"
    with TemporaryDirectory() as folder:
        words = [python, str(ASK / "ask_deeploy.py"), sources, tests, str(size), folder]
        answer = ask(words)
    layers = {k: v for k, v in answer["layers"].items() if not k.endswith("transpose")}
    traffic = sum(layer.get(key, 0) for layer in layers.values() for key in OPERANDS)
    tiles = max(layer["tiles"] for layer in layers.values())
    figures = {"figure": traffic, "most_tiles": tiles, "seconds": answer["seconds"]}
    found = Recorded(
        version=answer["version"],
        command=f"ask/ask_deeploy.py SOURCES {tests} {size}",
        date=today(),
        figures=figures,
        layers=layers,
        problems={"": problem(Path(sources, "DeeployTest", tests, "network.onnx"), size)},
    )
    return keep(name, found).shown


def ours(network: str, size: int) -> Figures:
    """Schedule the recorded network for the least traffic."""
    found = load(f"deeploy-{network.lower()}-{size}")
    solution = spmopt.solve(found.problems[""], scheduler="residency", objective="traffic")
    return figures_of(solution)


def lines(python: str | None, sources: str | None) -> list[BenchLine]:
    """List networks and sizes of L1."""
    found = []
    for network in NETWORKS:
        for size in SIZES:
            parts = {
                "peer": partial(peer, network, size, python, sources),
                "": partial(ours, network, size),
            }
            cells = (
                "Deeploy",
                f"{network} (MLPerf Tiny), L1 of {size:,} B",
                "bytes to and from L1",
            )
            found.append(BenchLine(cells, parts))
    return found
