"""Asks ZigZag what a network takes on one of its machines; for a Python that has zigzag-dse.

``python ask_zigzag.py NETWORK MACHINE FOLDER`` puts the network, the machine and what ZigZag wrote
of each layer into FOLDER, and prints figures as JSON. NETWORK is an ONNX file, here or in ZigZag's
package; MACHINE is a name there. Each layer is also evaluated below a DRAM without limits, which
tells what it takes on chip. ``--residency FILE`` evaluates only, with the operands (``I``, ``O``)
of each layer on chip that FILE lists: what ZigZag's model says of a schedule. ``--limit`` is
ZigZag's own bound on loops in an order, below which it merges some: its time grows as a factorial.
Nothing of spmopt is imported here.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
from argparse import ArgumentParser
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import onnx
import yaml
import zigzag
from onnx import numpy_helper, shape_inference
from zigzag.api import get_hardware_performance_zigzag
from zigzag.stages.exploit_data_locality_stages import SearchInterLayerDataLocalityStage

INPUTS = Path(zigzag.__file__).parent / "inputs"
UNLIMITED = 1 << 20  # bits a cycle
LIMIT = 6  # ZigZag's default


def prepare(source: Path, target: Path) -> None:
    """Write the network with its weights as constants and all shapes, which ZigZag needs."""
    model = onnx.load(str(source), load_external_data=False)
    graph, nodes = model.graph, []
    constants = {each.name: each for each in graph.initializer}
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in constants:
            shape = numpy_helper.to_array(constants[node.input[0]])
            zeros = numpy_helper.from_array(np.zeros(shape, np.float32), node.output[0])
            graph.initializer.append(zeros)
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    names = {each.name for each in graph.initializer}
    inputs = [each for each in graph.input if each.name not in names and _is_read(graph, each)]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 8)
    onnx.save(shape_inference.infer_shapes(model), str(target))


def _is_read(graph: Any, value: Any) -> bool:
    return any(value.name in node.input for node in graph.node)


def evaluate(
    folder: Path, machine: Path, mapping: Path, name: str, locality: bool, *, limit: int
) -> float:
    """Return ZigZag's cycles for the network; its files of layers go to ``folder / name``."""
    _, cycles, _ = get_hardware_performance_zigzag(
        str(folder / "network.onnx"),
        str(machine),
        str(mapping),
        opt="latency",
        dump_folder=str(folder / name),
        exploit_data_locality=locality,
        lpf_limit=limit,
        loma_show_progress_bar=False,
    )
    return float(cycles)


def unlimited(machine: Path, target: Path) -> Path:
    """Write the machine with a DRAM that holds nothing back."""
    document = yaml.safe_load(machine.read_text())
    for port in list(document["memories"].values())[-1]["ports"]:
        port["bandwidth_min"] = port["bandwidth_max"] = UNLIMITED
    target.write_text(yaml.safe_dump(document, sort_keys=False))
    return target


def layers(folder: Path) -> dict[str, dict[str, float]]:
    """Return what each layer takes: computation, loading and unloading, in cycles."""
    found = {}
    for path in sorted(folder.glob("*_complete.json")):
        document = json.loads(path.read_text())
        name = document["inputs"]["layer"].get("name")
        if name is not None and not path.name.startswith("overall"):
            found[name] = document["outputs"]["latency"]
    return found


def given(residency: dict[str, str]) -> Any:
    """Return a search of memories that takes those of ``residency``."""

    def search(stage: Any) -> None:
        memories = stage.core_mem_level_list
        for layer in stage.workload_no_dummy.topological_sort():
            links = layer.memory_operand_links
            inside = residency.get(layer.name, "")
            pairs = {"I": layer.get_act_layer_op(), "O": layer.output_operand}
            for letter, operand in pairs.items():
                name = links.layer_to_mem_op(operand)
                serving = [k for k, m in enumerate(memories) if name in m.mem_level_of_operands]
                level = serving[-2] if letter in inside else serving[-1]
                stage.mem_update_list[layer.id][name] = level

    return search


def main() -> None:
    """Do what the command line says."""
    parser = ArgumentParser()
    parser.add_argument("network")
    parser.add_argument("machine")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--residency", type=Path)
    parser.add_argument("--limit", type=int, default=LIMIT)
    asked = parser.parse_args()
    limit = asked.limit
    logging.disable(logging.WARNING)
    folder = asked.folder
    machine = INPUTS / "hardware" / f"{asked.machine}.yaml"
    mapping = INPUTS / "mapping" / f"{asked.machine}.yaml"
    mapping = mapping if mapping.exists() else mapping.with_name("default.yaml")
    begun, found = monotonic(), dict[str, Any]()
    if asked.residency is not None:
        residency = json.loads(asked.residency.read_text())
        SearchInterLayerDataLocalityStage.update_top_mem_level = given(residency)
        found["asked"] = evaluate(folder, machine, mapping, "asked", True, limit=limit)
    else:
        source = Path(asked.network)
        source = source if source.exists() else INPUTS / "workload" / asked.network
        prepare(source, folder / "network.onnx")
        shutil.copy(machine, folder / machine.name)
        found["alone"] = evaluate(folder, machine, mapping, "alone", False, limit=limit)
        found["locality"] = evaluate(folder, machine, mapping, "locality", True, limit=limit)
        found["seconds"] = monotonic() - begun
        wide = unlimited(machine, folder / "unlimited.yaml")
        evaluate(folder, wide, mapping, "unlimited", False, limit=limit)
        found["layers"] = layers(folder / "unlimited")
    found["version"] = f"ZigZag {version('zigzag-dse')}"
    sys.stdout.write(f"\n{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
