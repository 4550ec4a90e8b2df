"""Asks Stream what an attention block takes on one of its machines; for a Python with stream-dse.

``python ask_stream.py HEADS MACHINE FOLDER`` puts the block, as Stream's own script builds it (one
head, or several of 128 tokens and 512 channels), and the machine's files into FOLDER. It prints
as JSON the cycles of Stream's allocation by its open solver, those of each operation on its core,
and those that all bytes in and out of the other cores take on their links, one after another.
Nothing of spmopt is imported here.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import onnx
import stream
import yaml
from stream.api import SolveOptions, evaluate_mapping
from stream.inputs.testing.workload import make_attention_head as make

HARDWARE = Path(stream.__file__).parent / "inputs" / "examples" / "hardware"


def build(heads: int, path: Path) -> None:
    """Write the network, with the names that Stream gives to operations."""
    if heads == 1:
        make.make_attention_head(str(path))
    else:
        make.make_multi_head_attention(str(path), 128, 512, heads)
    model = onnx.load(str(path))
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"Op{number}"
    onnx.save(model, str(path))


def operations(context: Any) -> dict[str, dict[str, float]]:
    """Return cycles of each operation on the core that it is on."""
    lut, found = context.get("cost_lut"), {}
    for node in lut.get_nodes():
        cores = lut.get_cores(node)
        least = min(cores, key=lambda core: lut.get_cost(node, core).latency_total)
        cycles = float(lut.get_cost(node, least).latency_total)
        found[node.name] = {"cycles": cycles, "core": float(least.id)}
    return found


def linked_bytes(context: Any, first: int, off_chip: int) -> float:
    """Return the bytes in and out of the cores beside the ``first``."""
    found = 0.0
    for core, accesses in context.get("memory_accesses").accesses.items():
        if core.id not in (first, off_chip):
            for tensor, counts in accesses.items():
                del counts
                found += tensor.size_bits() / 8
    return found


def main() -> None:
    """Do what the command line says."""
    heads, machine, folder = int(sys.argv[1]), f"{sys.argv[2]}.yaml", Path(sys.argv[3])
    network = folder / "network.onnx"
    build(heads, network)
    for path in HARDWARE.glob("cores/*.yaml"):
        shutil.copy(path, folder / path.name)
    document = yaml.safe_load((HARDWARE / machine).read_text())
    shutil.copy(HARDWARE / machine, folder / machine)
    begun = monotonic()
    with contextlib.redirect_stdout(sys.stderr):
        found = evaluate_mapping(
            str(HARDWARE / machine),
            str(network),
            str(folder / "out"),
            None,
            SolveOptions(artifacts=False),
        )
    links = [each["bandwidth"] for each in document["core_connectivity"] if each["type"] == "link"]
    beside = linked_bytes(found.context, 0, document["offchip_core_id"])
    answer = {
        "version": f"Stream {version('stream-dse')}",
        "figure": float(found.cycles),
        "linked": 8 * beside / min(links),
        "seconds": monotonic() - begun,
        "layers": operations(found.context),
    }
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
