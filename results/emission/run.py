"""Programs in C of schedules: emitted with reference kernels, compiled, run, and compared."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import spmopt
from results.shared.bench import Bench, BenchLine, Figures, timed
from spmopt.core.graph import Graph
from spmopt.core.pieces.listing import listing_of
from spmopt.execution.computations import TOLERANCE
from spmopt.graph.build import GraphBuilder

LIMIT_S = 1.0
LEAST_BYTES, MOST_BYTES, PART = 1 << 12, 1 << 20, 12
"""The scratchpad holds a twelfth of all tensors, within these limits."""
PAGE = "256B"
LAYER = {"sequence": 8, "hidden": 32, "heads": 2, "layers": 1}
SMALL_LAYER = {**LAYER, "vocabulary": 40}
CASES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "lenet": (4, {}),
    "resnet18": (2, {"image": 64, "classes": 10}),
    "bert-tiny": (2, LAYER),
    "gpt2": (2, SMALL_LAYER),
    "transformer": (2, {**SMALL_LAYER, "inner": 64}),
}
SCHEDULES: tuple[tuple[str, bool, int], ...] = (
    ("belady", False, 0),
    ("contiguous", True, 0),
    ("page", False, 2),
)
"""Scheduler, whether DRAM has two channels, and in how many bands of rows each piece of the batch
is computed, where that can be; 0: operations are whole."""
OPTIONS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror")
SOURCES = ("main.c", "digest.c", "reference.c", "kernels.c", "-lm")
NOT_SANITIZED = ("resnet18",)
"""Networks whose programs would take minutes so."""
SANITIZERS = {"address,undefined": ("-DSYNC",), "thread": ("-pthread",)}


def lenet(batch: int) -> Graph:
    """Build LeNet-5 with ReLU and max pooling (LeCun et al., 1998), for digits of 32 x 32."""
    b = GraphBuilder("lenet")
    x = b.input("images", (batch, 1, 32, 32))
    for layer, (inputs, outputs) in enumerate(((1, 6), (6, 16))):
        kernel, bias = (
            b.weight(f"k{layer}", (outputs, inputs, 5, 5)),
            b.weight(f"b{layer}", (outputs,)),
        )
        x = b.add("Relu", [b.add("Conv", [x, kernel, bias])])
        x = b.add("MaxPool", [x], kernel_shape=(2, 2), strides=(2, 2))
    x = b.add("Flatten", [x])
    for layer, (inputs, outputs) in enumerate(((400, 120), (120, 84), (84, 10))):
        x = b.add("Relu", [x]) if layer else x
        weights = b.weight(f"f{layer}", (inputs, outputs)), b.weight(f"c{layer}", (outputs,))
        x = b.add("Gemm", [x, *weights])
    return b.finish([b.add("CrossEntropy", [x, b.input("labels", (batch,), element_type="int64")])])


def measure(
    network: str,
    training: bool,
    batch: int,
    ways: Sequence[tuple[str, bool, int]],
    /,
    **parameters: int,
) -> Figures:
    """Schedule a network in several ways; emit, compile and run each on both kinds of data."""
    optimizer = "adam" if training else None
    if network == "lenet":
        workload = spmopt.load(lenet(batch), training=training, optimizer=optimizer)
    else:
        workload = spmopt.load(
            network, training=training, batch=batch, optimizer=optimizer, parameters=parameters
        )
    assert workload.graph is not None
    size = sum(value.size_bytes for value in workload.graph.values)
    spm = min(max(LEAST_BYTES, size // PART // 256 * 256), MOST_BYTES)
    sanitized = network not in NOT_SANITIZED
    found = [_programs(workload, spm, how, sanitized) for how in ways]
    sums = ("commands", "emit_s", "compile_s", "program_s", "compared", "differing", "beyond")
    return {
        "operations": found[0]["operations"],
        "in_pieces": found[-1]["operations"],
        "tensors_mb": size / 1e6,
        "spm_kib": spm / 1024,
        **{name: sum(each[name] for each in found) for name in sums},
        "records_kb": max(each["records_kb"] for each in found),
        "largest": max(each["largest"] for each in found),
        "reported": found[-1]["reported"] if sanitized else None,
    }


def _programs(
    workload: spmopt.Workload, spm: int, how: tuple[str, bool, int], sanitized: bool
) -> dict[str, float]:
    """Schedule in one way, and follow the program on whole numbers and on normal data."""
    scheduler, duplex, bands = how
    instance = spmopt.lower(workload, spmopt.machine(spm=spm, duplex=duplex, page=PAGE))
    cover = None
    if bands:
        listing = listing_of(instance)
        has_bands = bands in listing.family().bands
        cover = listing.uniform(listing.batch, bands=bands if has_bands else 1)
    solution = spmopt.solve(instance, scheduler, cover=cover, time_limit=LIMIT_S)
    network = workload if cover is None else None
    found = dict.fromkeys(("emit_s", "compile_s", "program_s", "compared", "reported"), 0.0)
    figures = dict[str, dict[str, float]]()
    with TemporaryDirectory() as folder:
        for data in ("normal", "integer"):
            emission, taken = timed(
                partial(spmopt.emit, solution, network, kernels="reference", data=data)
            )
            found["emit_s"] += taken["cpu_s"]
            emission.save(folder)
            if data == "normal":  # the program is that of both
                _, taken = timed(partial(_compiled, folder, "-pthread"))
                found["compile_s"] = taken["cpu_s"]
            figures[data], taken = timed(partial(_ran, folder))
            found["program_s"] += taken["cpu_s"]
            found["compared"] += figures[data]["compared"]
        if bands and sanitized:
            found["reported"] = _reported(folder)
    return {
        **found,
        "operations": len(solution.instance.operations),
        "commands": emission.record["commands"],  # type: ignore[dict-item]
        "records_kb": len(emission.files["operators.bin"]) / 1e3,
        "differing": figures["integer"]["compared"] - figures["integer"]["the same"],
        "beyond": figures["normal"]["wrong"],
        "largest": figures["normal"]["of what is allowed"] * TOLERANCE,
    }


def _compiled(folder: str, *options: str) -> None:
    subprocess.run(["cc", *OPTIONS, *options, *SOURCES, "-o", "program"], cwd=folder, check=True)


def _ran(folder: str) -> dict[str, float]:
    """Return the figures of a program's last line."""
    done = subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    words = [part.rsplit(" ", 1) for part in done.stdout.splitlines()[-1].split(", ")]
    return {name: float(figure) for name, figure in words}


def _reported(folder: str) -> int:
    """Return how many sanitizers, of memory and of threads, report something."""
    reported = 0
    for name, options in SANITIZERS.items():
        _compiled(folder, f"-fsanitize={name}", *options)
        done = subprocess.run(
            [str(Path(folder) / "program")], cwd=folder, capture_output=True, check=False
        )
        reported += done.returncode != 0 or bool(done.stderr)
    return reported


def _lines() -> list[BenchLine]:
    reached = {"differing": "≤ 0", "beyond": "≤ 0"}
    lines = []
    for name, (batch, parameters) in CASES.items():
        target = reached if name in NOT_SANITIZED else {**reached, "reported": "≤ 0"}
        options = ", ".join([f"batch {batch}", *(f"{k}={v}" for k, v in parameters.items())])
        for step in ("forward", "training"):
            training = step == "training"
            parts = {"": partial(measure, name, training, batch, SCHEDULES, **parameters)}
            lines.append(BenchLine((name, step, options), parts, target))
    return lines


BENCH = Bench(
    file=__file__,
    lines=_lines(),
    quick=partial(measure, "lenet", False, 1, SCHEDULES[:1]),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
