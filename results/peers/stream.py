"""Stream's blocks on a machine of one compute core, by its own cycles of operations.

Stream gives each operation a core and each tensor a memory, by a mixed-integer program over tiles
that a rule chose, without a bound for the machine. Row-wise sums, exponentials and quotients of a
softmax are operations of it, some on a core for them; here they are one operation, which takes the
cycles of all. What it computes tile by tile takes the cycles of all tiles. Its SwiGLU has an
operator of its own.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import spmopt
from results.peers.cases import ASK, Recorded, ask, figures_of, keep, load, today
from results.shared.bench import BenchLine, Figures
from spmopt.core.costs import OperationCost, with_costs
from spmopt.core.problem import Problem

MACHINE = "eyeriss_like_single_core"
OPERATORS = Path(__file__).with_name("stream_operators.toml")
BLOCKS = {
    "attention-1": "attention head",
    "attention-8": "attention of 8 heads",
    "swiglu-256-2048-8192": "SwiGLU, 256 x 2048 x 8192",
}
COUNTED = {
    False: "as Stream counts",
    True: "and links between cores, one byte after another",
}


def peer(block: str, python: str | None) -> Figures:
    """Ask Stream, or return what was recorded."""
    name = f"stream-{block}"
    if python is None:
        return load(name).shown
    with TemporaryDirectory() as folder:
        answer = ask([python, str(ASK / "ask_stream.py"), block, MACHINE, folder])
        machine = spmopt.machine(Path(folder, f"{MACHINE}.yaml"))
        workload = spmopt.load(Path(folder, "network.onnx"), operators=OPERATORS)
        problem = spmopt.lower(workload, machine, mapper="tiled")
    layers = answer.pop("layers")
    found = Recorded(
        version=answer.pop("version"),
        command=f"ask/ask_stream.py {block} {MACHINE}",
        date=today(),
        figures=answer,
        layers=layers,
        problems={"": problem},
    )
    return keep(name, found).shown


def costed(found: Recorded, links: bool) -> Problem:
    """Return the problem at Stream's cycles; parts of an operation are one after another."""
    problem = found.problems[""]
    cycles = {each.name: 0.0 for each in problem.operations}
    beside = [name for name, layer in found.layers.items() if layer["core"]]
    for name, layer in found.layers.items():
        whole = name if name in cycles else name.rpartition("_")[0]
        cycles[whole] += layer["cycles"]
        if links and name in beside:
            cycles[whole] += float(found.figures["linked"]) / len(beside)
    costs = {name: [OperationCost(cycles=round(value))] for name, value in cycles.items()}
    return with_costs(problem, costs, found.version)[0]


def ours(block: str, links: bool) -> Figures:
    """Schedule the recorded block."""
    found = load(f"stream-{block}")
    return figures_of(spmopt.solve(costed(found, links), scheduler="residency"))


def lines(python: str | None) -> list[BenchLine]:
    """List blocks; Stream is asked once for each."""
    found = []
    for block, title in BLOCKS.items():
        for links, counted in COUNTED.items():
            parts = {"peer": partial(peer, block, None if links else python)}
            parts[""] = partial(ours, block, links)
            found.append(BenchLine(("Stream", f"{title}, {MACHINE}", counted), parts))
    return found
