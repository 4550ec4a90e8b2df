"""What the machine of a trial came out as: its channel, and what its technologies rest on."""

from __future__ import annotations

from dataclasses import dataclass

from optuna.trial import FrozenTrial

from spmopt.core.errors import InputError
from spmopt.hardware.scratchpad import bases_of, least_sure
from spmopt.hardware.technology import Basis
from spmopt.search.findings.replay import candidate_of
from spmopt.search.space.setup import Setup


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A machine, as far as its settings do not say it.

    Attributes
    ----------
    dram_bytes_per_s
        What the DRAM alone could move.
    channel_bytes_per_s
        What its channel moves: no more than the banks of the scratchpad.
    basis
        What the figures of the scratchpad rest on, of several banks the least sure; None without
        a technology.
    beyond
        Technologies whose figures are of a fit, beyond its points.
    """

    dram_bytes_per_s: int
    channel_bytes_per_s: int
    basis: Basis | None
    beyond: tuple[str, ...]

    @property
    def is_held_back(self) -> bool:
        """Whether banks make the channel slower than the DRAM."""
        return self.channel_bytes_per_s < self.dram_bytes_per_s


def built_of(setup: Setup, trial: FrozenTrial) -> Built | None:
    """That of a trial; None where there is no such machine."""
    try:
        machine = candidate_of(setup, trial).machine
    except (InputError, KeyError):  # a trial that was lost may not have all of its fields
        return None
    memory, bases = machine.memory, bases_of(machine)
    rate = machine.dram_bytes_per_s
    return Built(
        dram_bytes_per_s=rate if memory is None else memory.dram_bytes_per_s,
        channel_bytes_per_s=rate,
        basis=least_sure(machine),
        beyond=tuple(dict.fromkeys(name for name, one in bases if one is Basis.EXTRAPOLATED)),
    )
