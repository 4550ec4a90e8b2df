"""Stream's attention blocks on a machine of one compute core, by its own cycles of operations.

Stream gives each operation a core and each tensor a memory, by a mixed-integer program whose
bound it does not report. Row-wise sums, exponentials and quotients of a softmax are operations
of it, some on a core for them; here they are one operation, which takes the cycles of all.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import spmopt
from results.peers.cases import ASK, Recorded, ask, figures_of, keep, load, today
from results.shared.bench import BenchLine, Figures
from spmopt.core.costs import OperationCost, with_costs
from spmopt.core.instance import Instance

MACHINE = "eyeriss_like_single_core"
HEADS = {1: "attention head"}
COUNTED = {
    False: "as Stream counts",
    True: "and links between cores, one byte after another",
}


def peer(heads: int, python: str | None) -> Figures:
    """Ask Stream, or return what was recorded."""
    name = f"stream-attention-{heads}"
    if python is None:
        return load(name).shown
    with TemporaryDirectory() as folder:
        answer = ask([python, str(ASK / "ask_stream.py"), str(heads), MACHINE, folder])
        machine = spmopt.machine(Path(folder, f"{MACHINE}.yaml"))
        instance = spmopt.lower(spmopt.load(Path(folder, "network.onnx")), machine)
    layers = answer.pop("layers")
    found = Recorded(
        version=answer.pop("version"),
        command=f"ask/ask_stream.py {heads} {MACHINE}",
        date=today(),
        figures=answer,
        layers=layers,
        instances={"": instance},
    )
    return keep(name, found).shown


def costed(found: Recorded, links: bool) -> Instance:
    """Return the instance at Stream's cycles; parts of an operation are one after another."""
    instance = found.instances[""]
    cycles = {each.name: 0.0 for each in instance.operations}
    for name, layer in found.layers.items():
        whole = name if name in cycles else name.rpartition("_")[0]
        cycles[whole] += layer["cycles"]
        if links and whole != name:
            cycles[whole] += float(found.figures["linked"]) / _parts(found, whole)
    costs = {name: [OperationCost(cycles=round(value))] for name, value in cycles.items()}
    return with_costs(instance, costs, found.version)[0]


def _parts(found: Recorded, whole: str) -> int:
    return sum(name.startswith(f"{whole}_") for name in found.layers)


def ours(heads: int, links: bool) -> Figures:
    """Schedule the recorded block."""
    found = load(f"stream-attention-{heads}")
    return figures_of(spmopt.solve(costed(found, links), scheduler="page"))


def lines(python: str | None) -> list[BenchLine]:
    """List blocks; Stream is asked once for each."""
    found = []
    for heads, title in HEADS.items():
        for links, counted in COUNTED.items():
            parts = {"peer": partial(peer, heads, None if links else python)}
            parts[""] = partial(ours, heads, links)
            found.append(BenchLine(("Stream", f"{title}, {MACHINE}", counted), parts))
    return found
