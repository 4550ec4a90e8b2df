"""Networks of torch, imported and trained. The table needs no torch: ``measure.py`` does."""

from __future__ import annotations

import sys
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


def measure(name: str) -> Figures:
    """Import a network, and derive its training step."""
    from results.torch.measure import measure as measured  # noqa: PLC0415

    return measured(name)


def _line(name: str) -> BenchLine:
    return BenchLine((name,), {"": partial(measure, name)})


BENCH = Bench(
    file=__file__,
    lines=[_line(name) for name in NAMES],
    quick=partial(measure, "GroupNorm net"),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
