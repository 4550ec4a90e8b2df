"""The options of schedulers: the choices of each, the default first, and what each choice means."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Options = Mapping[str, Mapping[str, str]]
"""A phrase for each choice of each option."""

GRANULARITY: Options = MappingProxyType(
    {
        "granularity": {
            "whole": "a tensor stays in full or not at all",
            "page": "the head of a tensor stays, by pages, where the whole does not fit",
        }
    }
)
MSA: Options = MappingProxyType(
    {
        "copies": {
            "elapsed": "copies may fill the time that a step takes with all operands in DRAM, as "
            "XLA counts it; they delay the step's own streams",
            "idle": "copies take only the DMA time that the step's own streams leave",
        },
        "late": {
            "stream": "an operand without a prefetch is streamed at each use, as in XLA",
            "load": "it is kept as it streams, where it can stay until its next use",
        },
    }
)
TSAI: Options = MappingProxyType(
    {
        "order": {
            "depth-first": "operations run depth first and wait at joins",
            "listed": "operations run as listed",
        },
        "prefetch": {
            "latency": "a load is asked for so many layers ahead that they compute as long as it "
            "takes",
            "next": "a load is asked for one layer ahead",
            "none": "tensors are loaded at their uses",
        },
        "offload": {
            "ahead": "what will be evicted before its next use leaves right after this one",
            "full": "it leaves when its room is needed",
        },
    }
)
DOUBLE_BUFFER: Options = MappingProxyType(
    {
        "reuse": {
            "shared": "what a batch of operations shares with the one before it stays",
            "none": "it is loaded again, if there is a step between for it to be away",
        }
    }
)
