"""ZigZag's layers on its machines: its cycles for each layer, our residency and prefetch.

ZigZag evaluates a network layer by layer, or keeps what fits between layers that follow one
another (its locality mode). It counts convolutions and matrix products alone, of 8 bits an
element. What a layer takes on chip is what it says below a DRAM without limits; then which
tensors stay on chip, and when the others move, is scheduled here, on the machine of its file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

import spmopt
from results.peers.cases import ASK, Recorded, ask, figures_of, keep, load, today
from results.shared.bench import BenchLine, Figures
from spmopt.core.costs import OperationCost, with_costs
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.schedule import Command

_LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


@dataclass(frozen=True)
class Case:
    """A network, an ONNX file of the onnx package or of ZigZag's, on a machine of ZigZag's."""

    network: str
    machine: str
    limit: int = 6  # ZigZag's own, on loops in an order

    @property
    def name(self) -> str:
        """Of its record."""
        return f"zigzag-{Path(self.network).stem.removeprefix('light_')}-{self.machine}"

    @property
    def options(self) -> tuple[str, ...]:
        """What it is asked with."""
        return () if self.limit == Case.limit else ("--limit", str(self.limit))


NETWORKS = {
    "light_squeezenet.onnx": "SqueezeNet 1.1",
    "resnet18.onnx": "ResNet-18",
    "mobilenetv2.onnx": "MobileNetV2",
}
FEWER = 4  # loops in an order: MobileNetV2 by itself takes 458 cycles more of 22,573,199 so
CASES = (
    Case("light_squeezenet.onnx", "tpu_like"),
    Case("resnet18.onnx", "tpu_like"),
    Case("mobilenetv2.onnx", "tpu_like", FEWER),
    Case("light_squeezenet.onnx", "eyeriss_like", FEWER),
    Case("light_squeezenet.onnx", "edge_tpu_like", FEWER),
)
COUNTED = {
    "": "as ZigZag counts",
    "all": "with what ZigZag leaves out",
    "kept": "weights may stay on chip",
}
"""Figures that our side counts: cycles of ZigZag's layers, all else free; besides, their loading
and unloading within the chip, and all other operations at the built-in model; the first, if the
scratchpad of the machine took weights too."""


def peer(case: Case, python: str | None) -> Figures:
    """Ask ZigZag, or return what was recorded."""
    if python is None:
        return load(case.name).shown
    with TemporaryDirectory() as name:
        folder = Path(name)
        network = str(_LIGHT / case.network) if "light" in case.network else case.network
        words = [python, str(ASK / "ask_zigzag.py"), network, case.machine, name, *case.options]
        answer = ask(words)
        layers = {key: dict(figures) for key, figures in answer.pop("layers").items()}
        machine = folder / f"{case.machine}.yaml"
        found = Recorded(
            version=answer.pop("version"),
            command=" ".join(["ask/ask_zigzag.py", case.network, case.machine, *case.options]),
            date=today(),
            figures=answer | {"figure": answer["locality"]},
            layers=layers,
            problems=_problems(folder / "network.onnx", machine),
        )
        solution = spmopt.solve(costed(found, ""), scheduler="residency")
        residency = folder / "residency.json"
        residency.write_text(json.dumps(on_chip(solution, layers)), encoding="utf-8")
        told = ask([*words, "--residency", str(residency)])
        found = replace(found, figures={**found.figures, "asked": told["asked"]})
    return keep(case.name, found).shown


def _problems(network: Path, file: Path) -> dict[str, Problem]:
    """Lower a network for the machine, and for one whose scratchpad holds weights too."""
    workload, machine = spmopt.load(network, dtype="int8"), spmopt.machine(file)
    found = {"": spmopt.lower(workload, machine, mapper="tiled")}
    if machine.bypass:
        found["kept"] = spmopt.lower(workload, replace(machine, bypass=()), mapper="tiled")
    return found


def costed(found: Recorded, counted: str) -> Problem:
    """Return a problem at ZigZag's cycles of its layers."""
    problem = found.problems["kept" if counted == "kept" else ""]
    cycles = {name: layer["computation"] for name, layer in found.layers.items()}
    if counted == "all":
        cycles = {name: sum(layer.values()) for name, layer in found.layers.items()}
    else:
        cycles = {each.name: cycles.get(each.name, 0.0) for each in problem.operations}
    costs = {name: [OperationCost(cycles=round(value))] for name, value in cycles.items()}
    costed, _ = with_costs(problem, costs, found.version)
    return costed


def ours(case: Case, counted: str) -> Figures:
    """Schedule the recorded layers."""
    found = load(case.name)
    solution = spmopt.solve(costed(found, counted), scheduler="residency")
    return {**figures_of(solution), "products": len(found.layers)}


def on_chip(solution: spmopt.Solution, layers: Mapping[str, Any]) -> dict[str, str]:
    """Return which operands of each layer, ``I`` and ``O``, come from and go to no DRAM."""
    problem, schedule = solution.problem, solution.schedule
    operations = [problem.operations[k] for k in schedule.steps.operation.tolist()]
    moved: set[tuple[int, int]] = set()
    commands = schedule.commands
    for step, tensor, kind in zip(commands.step, commands.tensor, commands.kind, strict=True):
        users = [k for k, each in enumerate(operations) if tensor in each.tensors]
        into = kind in (Command.LOAD, Command.STREAM_IN)
        # What is loaded ahead serves the next use, what is stored comes of the last one.
        near = [k for k in users if (k >= step if into else k <= step)]
        moved.update((k, int(tensor)) for k in (near[:1] if into else near[-1:]))
    found = {}
    for step, operation in enumerate(operations):
        if operation.name in layers:
            kinds = {t: problem.tensors[t].kind for t in operation.reads}
            reads = [(step, t) for t, kind in kinds.items() if kind != TensorKind.WEIGHT]
            writes = [(step, t) for t in operation.writes]
            inside = "I" * moved.isdisjoint(reads) + "O" * moved.isdisjoint(writes)
            found[operation.name] = inside
    return found


def other(case: Case) -> Figures:
    """Return what was recorded, without what was said of another schedule."""
    return {k: v for k, v in load(case.name).shown.items() if k != "asked"}


def lines(python: str | None) -> list[BenchLine]:
    """List cases, each with all that may be counted; ZigZag is asked once for each."""
    found = []
    for case in CASES:
        for counted, title in COUNTED.items():
            first = partial(other, case) if counted else partial(peer, case, python)
            parts = {"peer": first, "": partial(ours, case, counted)}
            cells = ("ZigZag", f"{NETWORKS[case.network]}, {case.machine}", title)
            found.append(BenchLine(cells, parts))
    return found
