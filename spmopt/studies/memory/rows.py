"""Rows of the studies: workloads on scratchpads, by reading and scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.graph.ir import Graph
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.hardware.scratchpad import with_technology
from spmopt.hardware.technologies import load_technology
from spmopt.metrics import in_unit
from spmopt.solve import solve
from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.products import accesses
from spmopt.studies.memory.spent import TYPES, Spent, one_by_one, scheduled
from spmopt.studies.study import Known, Measured
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row, Value

SERIAL, EQUAL, BANKS = READINGS = ("one by one", "equal time", "banks")
"""As the paper counts it; the schedule's time, whatever the technology; the technology's banks."""
OPTIMAL = "page"
_TOLERANCE = 1e-2
_ABOUT: dict[str, type] = {
    "network": str,
    "training": bool,
    "batch": int,
    "machine": str,
    "spm_bytes": int,
    "role": str,
    "technology": str,
    "reading": str,
    "tile": int,
    "clock_hz": int,
    "banks": int,
    "dram_cycles": int,
    "objective": str,
    "scheduler": str,
}
COLUMNS = Columns.of(
    _ABOUT, {**TYPES, "status": str, "value": float, "bound": float, "verified": bool}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A network at a batch size, and scratchpads of one capacity to run it with.

    ``roles`` are names of technologies in ``assumed``.
    """

    network: str
    training: bool
    batch: int
    spm_bytes: int
    roles: tuple[str, ...]
    readings: tuple[str, ...] = READINGS

    def abouts(self, assumed: Assumptions) -> list[dict[str, Value]]:
        """What tells its rows apart, in the order of the rows."""
        return [
            {
                "network": self.network,
                "training": self.training,
                "batch": self.batch,
                "machine": assumed.machine,
                "spm_bytes": self.spm_bytes,
                "role": role,
                "technology": assumed.technology(role),
                "reading": reading,
                "tile": assumed.tile,
                "clock_hz": assumed.clock_hz,
                "banks": assumed.banks,
                "dram_cycles": assumed.dram_cycles,
                "objective": objective,
                "scheduler": scheduler,
            }
            for role in self.roles
            for reading in self.readings
            for scheduler, objective in (
                (assumed.policy, "time"),
                (OPTIMAL, "traffic" if reading == SERIAL else "energy"),
            )
        ]


def measured(workloads: Sequence[Workload], assumed: Assumptions) -> Measured:
    """Rows of workloads, in their order."""

    def run(pool: Pool, tell: Callable[[str], None], known: Known) -> Iterator[Sequence[Row]]:
        found: dict[int, Sequence[Row]] = {}
        for number, workload in enumerate(workloads):
            before = [known(about) for about in workload.abouts(assumed)]
            rows = [row for row in before if row is not None]
            if len(rows) == len(before):
                found[number] = rows
            else:
                task = partial(rows_of, workload, assumed)
                pool.add((number,), task, partial(found.__setitem__, number))
        number = 0
        while number in found:
            yield found.pop(number)
            number += 1
        for _ in pool.steps():
            while number in found:
                tell(f"{workloads[number].network} at {workloads[number].spm_bytes} bytes")
                yield found.pop(number)
                number += 1

    return Measured(columns=COLUMNS, run=run, what=repr((tuple(workloads), assumed)))


def rows_of(workload: Workload, assumed: Assumptions) -> list[Row]:
    """Schedule a workload, verified, and say what it takes of each scratchpad."""
    bench = _Bench(workload, assumed)
    return [bench.row(about) for about in workload.abouts(assumed)]


class _Bench:
    """One workload; every schedule is made once."""

    def __init__(self, workload: Workload, assumed: Assumptions) -> None:
        self._assumed = assumed
        self._graph: Graph = load_network(
            workload.network, batch=workload.batch, training=workload.training
        )
        self._machine = replace(load_machine(assumed.machine), spm_bytes=workload.spm_bytes)
        self._accessed = accesses(self._graph, assumed.tile)
        self._instances: dict[Machine, Instance] = {}
        self._results: dict[tuple[Machine, str, str], Result] = {}

    def row(self, about: dict[str, Value]) -> Row:
        """One row."""
        scheduler, objective = str(about["scheduler"]), str(about["objective"])
        technology = load_technology(str(about["technology"]))
        banks = self._assumed.banks if about["reading"] == BANKS else None
        machine = with_technology(self._machine, technology, banks=banks)
        # Without banks the technology changes no schedule but one of least energy.
        shared = banks is None and objective != "energy"
        result = self._result(self._machine if shared else machine, scheduler, objective)
        if result.totals is None:
            raise ValueError(f"{scheduler} found no schedule of {about['network']}")
        spent: Spent = scheduled(machine, result.totals, technology.at(machine.spm_bytes))
        if about["reading"] == SERIAL:
            spent = one_by_one(
                technology.at(machine.spm_bytes), self._accessed, spent, self._assumed
            )
        unit = objective_named(objective, machine)
        value, bound = (
            None if exact is None else in_unit(unit, machine, exact)[0]
            for exact in (result.value, result.bound)
        )
        return {
            **about,
            **spent.row(),
            "status": str(result.status),
            "value": value,
            "bound": bound,
            "verified": result.verified,
        }

    def _result(self, machine: Machine, scheduler: str, objective: str) -> Result:
        key = machine, scheduler, objective
        if key not in self._results:
            if machine not in self._instances:
                self._instances[machine] = lower(self._graph, machine)
            request = Request(
                objective=objective_named(objective, machine), tolerance=_TOLERANCE, threads=1
            )
            self._results[key] = solve(self._instances[machine], scheduler, request)
        return self._results[key]
