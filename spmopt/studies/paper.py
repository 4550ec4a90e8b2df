"""Conditions of Tsai's thesis, chapter 5: its networks, its machine, its capacities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spmopt.hardware.machines import load_machine
from spmopt.sweep.cases import Case, Network

MB = 10**6
RATE = 13_450 * 10**9
FAST = 23_040 * 10**9
"""Operations per second of RTX 2080 Ti and Radeon 6900 XT (table 5.2)."""
SMALL = ("resnet50", "mobilenetv2", "transformer")
"""Networks that are quick to schedule."""
NETWORKS = (*SMALL, "gnmt")
TITLES = {
    "resnet50": "ResNet-50",
    "mobilenetv2": "MobileNetV2",
    "transformer": "Transformer",
    "gnmt": "GNMT",
}
MACHINE = "RTX 2080 Ti (616 GB/s, 13.45 TFLOP/s)"
STEP = "training, batch 32 (Transformer 128)"
"""Conditions as pictures tell them."""


def network(name: str, *, lowering: str = "ideal", batch: int | None = None) -> Network:
    """One training step of a network as in the thesis.

    Operands cross the DRAM boundary once per operation, whatever their size, as its model has it
    (``ideal``); a batch of 32, of the Transformer 128; GNMT of plain operators.
    """
    parameters = (("plain", 1),) if name == "gnmt" else ()
    return Network(name=name, training=True, batch=batch, parameters=parameters, lowering=lowering)


def case(
    name: str,
    capacities: Sequence[int],
    *,
    lowering: str = "ideal",
    batch: int | None = None,
    bandwidth: int | None = None,
    throughput: int | None = None,
) -> Case:
    """A network on the thesis's machine: 616 GB/s and 13.45 TFLOP/s, if not told otherwise.

    ``capacities`` are bytes, ``bandwidth`` bytes/s, ``throughput`` operations/s.
    """
    sizes = tuple(capacities)
    machine = replace(load_machine("rtx2080ti"), spm_bytes=sizes[0])
    if bandwidth is not None:
        machine = replace(machine, dram_bytes_per_s=bandwidth)
    if throughput is not None:
        machine = replace(machine, operations_per_s=throughput)
    return Case(
        network=network(name, lowering=lowering, batch=batch), machine=machine, capacities=sizes
    )
