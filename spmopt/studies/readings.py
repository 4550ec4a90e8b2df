"""What the thesis leaves open, and how it may be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from spmopt.sweep.cases import Case

Parameters = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A way to read the thesis.

    ``operations`` is what a multiply-accumulate counts as. The throughput is stated in operations
    of which programs here have two: with one, twice as many of these fit in a second.
    ``parameters`` are of networks.
    """

    operations: int = 2
    parameters: Parameters = field(default_factory=dict)

    def applies(self, network: str) -> bool:
        """Whether it changes anything of a network."""
        return self.operations != 2 or network in self.parameters

    def of(self, plain: Case) -> Case:
        """``plain`` read in this way."""
        network, machine = plain.network, plain.machine
        given = dict(network.parameters) | dict(self.parameters.get(network.name, {}))
        rate = machine.operations_per_s * 2 // self.operations
        return replace(
            plain,
            network=replace(network, parameters=tuple(given.items())),
            machine=replace(machine, operations_per_s=rate),
        )


PLAIN = Reading()
COUNTING = Reading(operations=1)
WIDTH = Reading(parameters={"transformer": {"inner": 1024}})
VOCABULARY = Reading(parameters={"transformer": {"vocabulary": 1}, "gnmt": {"vocabulary": 1}})
ALL = Reading(
    operations=1,
    parameters={"transformer": {"inner": 1024, "vocabulary": 1}, "gnmt": {"vocabulary": 1}},
)
READINGS: Mapping[str, Reading] = MappingProxyType(
    {
        "tsai": PLAIN,
        "counting": COUNTING,
        "width": WIDTH,
        "vocabulary": VOCABULARY,
        "all": ALL,
    }
)
"""As it is read here, each assumption by itself, all together; by name in the rows."""
