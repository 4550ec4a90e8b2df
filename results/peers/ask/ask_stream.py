"""Asks Stream what a block takes on one of its machines; for a Python with stream-dse.

``python ask_stream.py BLOCK MACHINE FOLDER`` puts the block, as Stream's own scripts build it, and
the machine's files into FOLDER. BLOCK is ``attention-HEADS``, of 128 tokens and 512 channels in
all, or ``swiglu-TOKENS-CHANNELS-HIDDEN``. It prints as JSON the cycles of Stream's allocation by
its open solver, those of each operation over all its tiles, with its core, and those that all
bytes in and out of the other cores take on their links, one after another. Nothing of spmopt is
imported here.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from importlib.metadata import version
from math import ceil, prod
from pathlib import Path
from time import monotonic
from typing import Any

import onnx
import stream
import yaml
from stream.api import SolveOptions, evaluate_mapping
from stream.inputs.testing.workload import make_attention_head as attention
from stream.inputs.testing.workload import make_swiglu as swiglu
from stream.ir.allocation import AllocationIR

HARDWARE = Path(stream.__file__).parent / "inputs" / "examples" / "hardware"


def build(block: str, path: Path) -> None:
    """Write the network, with the names that Stream gives to operations."""
    kind, *sizes = block.split("-")
    if kind == "swiglu":
        made = swiglu.make_small_swiglu_workload(*map(int, sizes), output_dir=str(path.parent))
        shutil.move(made, path)
    elif sizes == ["1"]:
        attention.make_attention_head(str(path))
    else:
        attention.make_multi_head_attention(str(path), 128, 512, int(sizes[0]))
    model = onnx.load(str(path))
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"Op{number}"
    onnx.save(model, str(path))


def watch() -> list[Any]:
    """Return the list that will have the allocation of each group of fused operations."""
    found: list[Any] = []
    convert = AllocationIR.from_internal

    def kept(allocation: Any) -> Any:
        found.append(allocation)
        return convert(allocation)

    AllocationIR.from_internal = kept
    return found


def operations(allocation: Any) -> dict[str, dict[str, float]]:
    """Return cycles of each operation on the core that it is on, of all its tiles."""
    lut, found = allocation.problem.cost_lut, {}
    spaces = {getattr(key, "name", None): space for key, space in allocation.ssis.items()}
    for node in lut.get_nodes():
        cores = lut.get_cores(node)
        least = min(cores, key=lambda core: lut.get_cost(node, core).latency_total)
        tiles = prod(spaces[node.name].get_applicable_temporal_sizes())
        cycles = float(lut.get_cost(node, least).latency_total) * tiles
        found[node.name] = {"cycles": cycles, "core": float(least.id), "tiles": float(tiles)}
    return found


def linked_bytes(accesses: Any, first: int, off_chip: int) -> float:
    """Return the bytes in and out of the cores beside the ``first``."""
    found = 0.0
    for core in accesses["cores"]:
        if core["core_id"] not in (first, off_chip):
            for tensor in core["tensors"]:
                for way in ("read", "write"):  # in words of the port, a tile at a time
                    words = ceil(tensor["size_bits"] / core[f"{way}_bandwidth"])
                    found += tensor[way] / words * tensor["size_bits"] / 8
    return found


def main() -> None:
    """Do what the command line says."""
    block, machine, folder = sys.argv[1], f"{sys.argv[2]}.yaml", Path(sys.argv[3])
    network = folder / "network.onnx"
    shutil.copytree(HARDWARE / "cores", folder / "cores")
    document = yaml.safe_load((HARDWARE / machine).read_text())
    shutil.copy(HARDWARE / machine, folder / machine)
    begun, groups = monotonic(), watch()
    with contextlib.redirect_stdout(sys.stderr):
        build(block, network)
        found = evaluate_mapping(
            str(HARDWARE / machine),
            str(network),
            str(folder / "out"),
            None,
            SolveOptions(artifacts=False),
        )
    links = [each["bandwidth"] for each in document["core_connectivity"] if each["type"] == "link"]
    accesses = found.context.get("group_memory_accesses").values()
    beside = sum(linked_bytes(each, 0, document["offchip_core_id"]) for each in accesses)
    answer = {
        "version": f"Stream {version('stream-dse')}",
        "figure": float(found.cycles),
        "linked": 8 * beside / min(links),
        "groups": len(groups),
        "seconds": monotonic() - begun,
        "layers": {k: v for group in groups for k, v in operations(group).items()},
    }
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
