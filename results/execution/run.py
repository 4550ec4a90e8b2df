"""Schedules of networks and at random executed on real numbers, beside plain execution."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import onnx

from results.execution.cases import planted, random_schedules
from results.execution.networks import measure
from results.shared.bench import Bench, BenchLine
from tests.execution.planted import PLANTS

MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
TOKENS = {"sequence": 8, "hidden": 16, "heads": 2}
WORDS = {**TOKENS, "vocabulary": 40}
LLAMA = {
    **{"layers": 1, "sequence": 6, "hidden": 16, "heads": 4, "groups": 2},
    **{"inner": 32, "vocabulary": 40},
}
IMAGES = {"image": 32, "classes": 10}
LARGER_IMAGES = {"image": 64, "classes": 10}
"""Of 32 pixels the last maps of MobileNets and ResNets are one. Where few such numbers, which may
be nearly equal, are normalized, gradients are rounding (up to 30 % of the greatest)."""
CASES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "ncf": (4, {"users": 50, "items": 40, "factors": 8, "width": 16}),
    "transformer": (2, {**WORDS, "layers": 1, "inner": 32}),
    "gnmt": (2, {"layers": 2, "steps": 2, "hidden": 16, "vocabulary": 40}),
    "bert-tiny": (2, TOKENS),
    "tinybert": (2, {**TOKENS, "layers": 1, "inner": 32}),
    "bert-large": (2, {**TOKENS, "layers": 1}),
    "t5-small": (2, {**WORDS, "layers": 1, "target": 6, "inner": 32}),
    "t5-large": (2, {**WORDS, "layers": 2, "target": 6, "inner": 32}),
    "llama": (2, LLAMA),
    "llama3": (2, LLAMA),
    "gpt2": (2, {**WORDS, "layers": 1}),
    "dlrm": (4, {"width": 16, "tables": 4}),
    "squeezenet": (2, {"image": 48, "classes": 10}),
    "mobilenet": (2, LARGER_IMAGES),
    "mobilenetv2": (2, LARGER_IMAGES),
    "googlenet": (1, IMAGES),
    "resnet18": (2, LARGER_IMAGES),
    "yolov2-tiny": (1, {"image": 32, "classes": 4}),
    "faster-rcnn": (1, {"image": 64, "regions": 8, "classes": 5}),
    "convnext-tiny": (1, IMAGES),
}
SLOW = (
    *("resnet18 training", "yolov2-tiny training", "faster-rcnn forward", "faster-rcnn training"),
    *("convnext-tiny forward", "convnext-tiny training"),
)
QUICK_FILES = ("light_shufflenet.onnx", "light_squeezenet.onnx")
"""Other files and slow networks take minutes each: measured where ``--long`` asks for them."""
RANDOM, AT_ONCE = 1_000, 250
PLANTED = 120
"""Errors of each kind."""
TARGETS = {"differing": "≤ 0"}


def _lines() -> Iterator[BenchLine]:
    for first in range(0, RANDOM, AT_ONCE):
        end = first + AT_ONCE
        cells = ("random schedules", "", f"seeds {first:,} to {end - 1:,}")
        part = partial(random_schedules, first, end)
        yield BenchLine(cells, {"": part}, {**TARGETS, "turns_differing": "≤ 0"})
    for kind in PLANTS:
        cells = ("planted errors", "", kind.replace("_", " "))
        targets = {"schedules": "≥ 100", "missed": "≤ 0"}
        yield BenchLine(cells, {"": partial(planted, kind, PLANTED)}, targets)
    for name, (batch, parameters) in CASES.items():
        options = ", ".join(f"{key}={value}" for key, value in parameters.items())
        for step in ("forward", "training"):
            part = partial(measure, name, step == "training", batch, **parameters)
            cells, slow = (name, step, f"batch {batch}, {options}"), f"{name} {step}" in SLOW
            yield BenchLine(cells, {"": part}, TARGETS, long=slow)
    for path in sorted(MODELS.glob("*.onnx")):
        cells = (path.name, "forward", "as in the file, random weights")
        part = partial(measure, str(path), False, None, False)
        yield BenchLine(cells, {"": part}, TARGETS, long=path.name not in QUICK_FILES)


BENCH = Bench(
    file=__file__,
    lines=list(_lines()),
    quick=partial(measure, "ncf", False, 4, **CASES["ncf"][1]),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
