"""How large an instance may be, so that every sum over it fits 64-bit integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.core.instance import Instance, Mode

LARGEST = 2**60
"""Of any single figure and any total; three bits are left for what schedulers add to that."""


def require_small(where: str, what: str, value: int) -> None:
    """Raise :class:`InputError` when ``value`` is above :data:`LARGEST`."""
    if value > LARGEST:
        raise InputError(
            f"{where}: {what} is {value}, but at most 2**60 can be computed with; make it smaller"
        )


def require_small_totals(instance: Instance) -> None:
    """Check what a schedule spends that keeps nothing on chip and so moves the most.

    Raises
    ------
    InputError
        Bytes, cycles or multiplications sum up to more than :data:`LARGEST`.
    """
    machine, operations = instance.machine, instance.operations
    sizes = [tensor.size_bytes for tensor in instance.tensors]
    moved = commands = 0
    for operation in operations:
        used = [sizes[tensor] for tensor in operation.tensors]
        # Both ways: what is updated is read and written.
        moved += 2 * max(
            sum(size * operand.passes for size, operand in zip(used, mode.operands, strict=True))
            for mode in operation.modes
        )
        commands += 2 * len(used)
    modes = [operation.modes for operation in operations]
    dma_cycles = -(-moved * machine.clock_hz // machine.dram_bytes_per_s)
    compute_cycles = _most(modes, "compute_cycles")
    totals = {
        "bytes of tensors": sum(sizes),
        "bytes to move": moved,
        "cycles": compute_cycles + dma_cycles + commands * (machine.dma_setup_cycles + 1),
        "bytes of scratchpad read": _most(modes, "spm_read_bytes"),
        "bytes of scratchpad written": _most(modes, "spm_write_bytes"),
        "multiplications": _most(modes, "macs"),
    }
    for what, total in totals.items():
        if total > LARGEST:
            raise InputError(
                f"instance {instance.name}: {float(total):.3g} {what}, but at most 2**60 can be "
                "computed with; give a smaller batch, smaller tensors or a faster machine"
            )


def _most(modes: Iterable[tuple[Mode, ...]], name: str) -> int:
    """Sum over operations of the largest figure over its modes."""
    return sum(max(getattr(mode, name) for mode in own) for own in modes)
