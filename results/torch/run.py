"""Networks of torch, imported in four ways. The table needs no torch: ``measure.py`` does."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial

from results.shared.bench import Bench, BenchLine, Figures

NAMES = (
    "ResNet-50",
    "MobileNetV3-L",
    "EfficientNet-B0",
    "ConvNeXt-T",
    "ViT-B/16",
    "Swin-T",
    "DeepLabV3",
    "U-Net",
    "BERT",
    "GPT-2",
    "LLaMA",
    "T5",
    "Whisper",
    "LLaMA block",
    "DLRM",
    "LSTM",
    "GRU",
    "GroupNorm net",
    "Diffusion block",
    "Mixture of experts",
)
"""The networks that ``networks.py`` builds."""

KINDS = ("folded", "rows", "twice", "constants", "other")
"""What ``differences.py`` tells apart."""
EXPLAINED = 0.001
"""Part of the parameters that a file may be off without a word."""
WHY = (
    "Files whose weights are off by more than 0.1 %, in percent of the parameters, by what the "
    "exporter did: *folded*: batch normalizations went into convolutions (two rows less, a bias "
    "more); *rows*: tables of positions or biases of which only the rows are held that are read; "
    "*twice*: held transposed besides; *constants*: masks, angles, buffers and scales of 1, which "
    "are no parameters but are moved as they are; *other*: the rest."
)


def measure(name: str) -> Figures:
    """Import a network in all four ways."""
    from results.torch.measure import measure as measured  # noqa: PLC0415

    return measured(name)


def note(found: Mapping[str, Figures]) -> str:
    """List what is refused, and why weights of files are not the parameters."""
    return "\n\n".join(filter(None, (_refused(found), _explained(found))))


def _explained(found: Mapping[str, Figures]) -> str:
    rows = [
        f"| {name}, {kind} | {100 * figures[f'{kind}.weights_off']:+.3f} | "
        + " | ".join(f"{100 * figures[f'{kind}.{part}']:+.3f}" for part in KINDS)
        + " |"
        for name, figures in found.items()
        for kind in ("dynamo", "script")
        if f"{kind}.twice" in figures and abs(figures[f"{kind}.weights_off"]) > EXPLAINED
    ]
    head = f"| file | weights off % | {' | '.join(KINDS)} |\n| :-- {'| --: ' * (len(KINDS) + 1)}|"
    return "\n".join((f"{WHY}\n", head, *rows)) if rows else ""


def _refused(found: Mapping[str, Figures]) -> str:
    refused = [
        f"* {name}, {kind}: {figures[f'{kind}.outcome']}: {figures.get(f'{kind}.why')}"
        for name, figures in found.items()
        for kind in ("dynamo", "script")
        if figures.get(f"{kind}.outcome") not in ("imported", None)
    ]
    return "\n".join(["Not imported from ONNX:", "", *refused]) if refused else ""


def _line(name: str) -> BenchLine:
    return BenchLine((name,), {"": partial(measure, name)})


BENCH = Bench(
    file=__file__,
    lines=[_line(name) for name in NAMES],
    quick=partial(measure, "GroupNorm net"),
    note=note,
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
