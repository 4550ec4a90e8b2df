"""From a residency plan to a schedule in full: DMA commands, their exact cost, page addresses."""

from spmopt.assemble.commands import derive_commands
from spmopt.assemble.cost import (
    residency_plan_cost,
    residency_plan_value,
    transfer_cycles,
)
from spmopt.assemble.schedule import assemble

__all__ = [
    "assemble",
    "derive_commands",
    "residency_plan_cost",
    "residency_plan_value",
    "transfer_cycles",
]
