"""Schedules of networks executed on real numbers, beside plain execution."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import onnx

import spmopt
from results.shared.bench import Bench, BenchLine, Figures, timed
from spmopt.core.pieces.listing import listing_of

LIMIT_S = 1.0
LEAST_BYTES, MOST_BYTES, PART = 1 << 12, 1 << 20, 12
"""The scratchpad holds a twelfth of all tensors, within these limits."""
PAGE = "256B"
MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
TOKENS = {"sequence": 8, "hidden": 16, "heads": 2}
CASES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "resnet18": (2, {"image": 32, "classes": 10}),
    "mobilenetv2": (2, {"image": 32, "classes": 10}),
    "convnext-tiny": (1, {"image": 32, "classes": 10}),
    "squeezenet": (2, {"image": 48, "classes": 10}),
    "transformer": (2, {**TOKENS, "layers": 1, "inner": 32, "vocabulary": 40}),
    "gnmt": (2, {"layers": 2, "steps": 2, "hidden": 16, "vocabulary": 40}),
    "bert-tiny": (2, TOKENS),
    "gpt2": (2, {**TOKENS, "layers": 1, "vocabulary": 40}),
    "t5-small": (2, {**TOKENS, "layers": 1, "target": 6, "inner": 32}),
    "ncf": (4, {"users": 50, "items": 40, "factors": 8, "width": 16}),
}
TRAINED = ("squeezenet", "transformer", "gnmt", "bert-tiny", "gpt2", "t5-small", "ncf")
"""Networks whose training steps are executed, too, with updates by Adam."""
SCHEDULES: tuple[tuple[str, bool, int], ...] = (
    ("belady", False, 0),
    ("contiguous", False, 0),
    ("page", True, 0),
    ("page", False, 2),
)
"""Scheduler, whether DRAM has two channels, and in how many bands of rows each piece of the batch
is computed, where that can be; 0: operations are whole."""
OF_MODELS: tuple[tuple[str, bool, int], ...] = (("belady-size:granularity=page", False, 0),)
"""Of the files of ONNX, which are of full size."""


def measure(
    network: str,
    training: bool,
    batch: int | None,
    ways: Sequence[tuple[str, bool, int]],
    /,
    **parameters: int,
) -> Figures:
    """Schedule a network in several ways, and execute each by hashes and by its operators."""
    workload = spmopt.load(
        network,
        training=training,
        batch=batch,
        optimizer="adam" if training else None,
        parameters=parameters or None,
    )
    assert workload.graph is not None
    size = sum(value.size_bytes for value in workload.graph.values)
    spm = min(max(LEAST_BYTES, size // PART // 256 * 256), MOST_BYTES)
    found, taken = timed(lambda: [*map(partial(_executed, workload, spm), ways)])
    return {
        "operations": found[0]["operations"],
        "tensors_mb": size / 1e6,
        "spm_kib": spm / 1024,
        "schedules": len(found),
        "in_pieces": found[-1]["operations"] if ways[-1][2] else None,
        **{
            name: sum(each[name] for each in found)
            for name in ("commands", "moved_mb", "compared", "differing")
        },
        "rounding": found[-1]["rounding"] if ways[-1][2] else None,
        **taken,
    }


def _executed(workload: spmopt.Workload, spm: int, how: tuple[str, bool, int]) -> dict[str, float]:
    """Schedule in one way; execute by hashes, on whole numbers, and on normal data in pieces."""
    scheduler, duplex, bands = how
    machine = spmopt.machine(spm=spm, duplex=duplex, page=PAGE)
    instance, cover = spmopt.lower(workload, machine), None
    if bands:
        listing = listing_of(instance)
        has_bands = bands in listing.family().bands
        cover = listing.uniform(listing.batch, bands=bands if has_bands else 1)
    solution = spmopt.solve(instance, scheduler, cover=cover, time_limit=LIMIT_S)
    runs = [
        spmopt.run(solution, kernels="hash"),
        spmopt.run(solution, kernels="reference", data="integer"),
    ]
    rounding = 0.0
    if solution.result.pieces is not None:
        normal = spmopt.run(solution, kernels="reference", data="normal")
        rounding = normal.comparison.largest_part
        runs.append(normal)
    last = runs[0].comparison
    return {
        "operations": len(solution.instance.operations),
        "commands": sum(last.counts.values()),
        "moved_mb": (last.loaded_bytes + last.stored_bytes) / 1e6,
        "compared": last.tensors * len(runs),
        "differing": sum(not each.same for each in runs),
        "rounding": rounding,
    }


def _lines() -> list[BenchLine]:
    target = {"differing": "≤ 0"}
    lines = []
    for name, (batch, parameters) in CASES.items():
        options = ", ".join(f"{key}={value}" for key, value in parameters.items())
        for step in ("forward", "training") if name in TRAINED else ("forward",):
            parts = {"": partial(measure, name, step == "training", batch, SCHEDULES, **parameters)}
            lines.append(BenchLine((name, step, f"batch {batch}, {options}"), parts, target))
    for path in sorted(MODELS.glob("*.onnx")):
        cells = (path.name, "forward", "as in the file, random weights")
        parts = {"": partial(measure, str(path), False, None, OF_MODELS)}
        lines.append(BenchLine(cells, parts, target))
    return lines


BENCH = Bench(
    file=__file__,
    lines=_lines(),
    quick=partial(measure, "ncf", False, 4, SCHEDULES, **CASES["ncf"][1]),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
