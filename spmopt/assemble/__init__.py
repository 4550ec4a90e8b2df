"""From a plan to a schedule in full: DMA commands, their time, page addresses."""

from spmopt.assemble.commands import derive_commands
from spmopt.assemble.cycles import step_cycles, transfer_cycles
from spmopt.assemble.schedule import assemble

__all__ = ["assemble", "derive_commands", "step_cycles", "transfer_cycles"]
