"""One measurement, in the process that this module is run in: a job in, its figures out.

``python -m spmopt.bench.worker`` reads ``{"case", "measure", "options"}`` as JSON from stdin and
prints the figures as one line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from spmopt.bench import placement, tiles
from spmopt.bench.small import TINY, small_instance
from spmopt.bench.suite import Case, Figures
from spmopt.core.instance import Instance
from spmopt.frontends import zoo
from spmopt.frontends.networks import load_network
from spmopt.frontends.shipped import shipped
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine

_MEASURES: Mapping[str, str] = {
    "reach": "schedules:reach",
    "walk": "schedules:walk",
    "gaps": "schedules:gaps",
    "contiguity": "schedules:contiguity",
    "priced": "models:priced",
    "plain": "models:plain",
    "simplifications": "joint:simplifications",
    "place": "placement:place",
    "minimize": "placement:minimize",
    "peer": "placement:peer",
    "backward": "gradients:backward",
    "solved": "tiles:solved",
    "cycles": "tiles:cycles",
    "front": "fronts:front",
    "search": "searches:search",
}
"""Module and function; loaded by name, so that no measurement pays for another's packages."""
_OF_CASES = ("backward", "cycles", "front", "search")
_OF_BUFFERS = ("place", "minimize", "peer")


def build(case: Case) -> Instance:
    """Lower the training graph of ``case``; small networks and ONNX models forward, if asked.

    A layer in tiles has its gradients alone.
    """
    if case.machine == TINY:
        training = bool(case.parameters["training"])
        return small_instance(case.network, int(case.spm), training=training)
    if case.network == tiles.LAYER:
        return tiles.instance_of(case)
    machine = load_machine(case.machine, {"spm": case.spm})
    if case.network.endswith(".onnx"):
        path = shipped()[case.network.removesuffix(".onnx")]
        graph = load_network(str(path), training=bool(case.parameters["training"]))
    else:
        graph = training_graph(zoo.network(case.network, **case.parameters))
    return lower(graph, machine, lowering=case.lowering)


def measure_named(name: str) -> Callable[..., Figures]:
    """The function of a measure."""
    module, _, function = _MEASURES[name].partition(":")
    found: Callable[..., Figures] = getattr(import_module(f"spmopt.bench.{module}"), function)
    return found


def measure(job: Mapping[str, Any]) -> Figures:
    """Do one job."""
    case, name = Case(**job["case"]), job["measure"]
    if name in _OF_CASES:
        return measure_named(name)(case, **job["options"])
    if case.machine in (placement.FILE, placement.RANDOM):
        return measure_named(name)(placement.read(case), **job["options"])
    instance = build(case)
    subject = placement.lifetimes(instance) if name in _OF_BUFFERS else instance
    return measure_named(name)(subject, **job["options"])


if __name__ == "__main__":
    print(json.dumps(dict(measure(json.load(sys.stdin))), allow_nan=False))
