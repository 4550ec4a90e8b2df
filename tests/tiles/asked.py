"""Small layers and machines on which they take several tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spmopt.core.machine import Machine
from spmopt.hardware.machines import load_machine
from spmopt.tiles.case import LayerCase
from spmopt.tiles.layer import Layer

LAYER = Layer(name="a", m=160, k=300, n=90)


def machine(spm: str = "128KiB") -> Machine:
    return load_machine("small-npu", {"spm": spm, "page": 512})


def case(**changes: Any) -> LayerCase:
    """``LAYER`` on a small scratchpad, with some fields changed."""
    return replace(LayerCase(layer=LAYER, machine=machine()), **changes)
