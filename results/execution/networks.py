"""A network scheduled by every scheduler, on several machines, whole and in tiles; all executed.

What operations compute is remembered by every bit that they read: a schedule that brings an
operation other bytes has it computed anew, with another result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import spmopt
from results.execution.recomputed import recomputed
from results.shared.bench import Figures, timed
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.tileable_graph import tileable_graph_of
from spmopt.core.machine import Bank, Machine
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.execution.commands import machine_program
from spmopt.execution.comparison import compare
from spmopt.execution.computations import Computation, by_graph, tileable_graph_for
from spmopt.execution.executor import Kernel, Trace, execute, fingerprint
from spmopt.execution.memory import Bytes
from spmopt.verifier import require_legal
from tests.banked import with_these

LIMIT_S = 0.3
"""Of each optimizer."""
LEAST_BYTES, MOST_BYTES, PART = 1 << 12, 1 << 19, 12
"""The scratchpad holds a twelfth of all tensors, within these limits."""
PAGE = "256B"
GREEDY = (
    *("stream", "lru", "belady", "belady-size", "belady-size:granularity=page", "frequency"),
    *("static", "msa", "tsai", "next-layer", "autotm", "double-buffer"),
)
OPTIMIZERS = ("whole", "residency", "contiguous")
FEW = 120
"""Operations of the networks that ``joint`` is asked for."""
LARGE_BYTES = 5_000_000
"""Of networks with more bytes of weights fewer schedules are for two channels."""


@dataclass
class Tally:
    """What was executed."""

    schedulers: set[str] = field(default_factory=set)
    schedules: int = 0
    commands: int = 0
    moves: int = 0
    tensors: int = 0
    differing: int = 0
    rounding: float = 0.0

    def run(self, name: str, problem: Problem, schedule: Schedule, what: Computation) -> None:
        """Execute a verified schedule, and compare it with plain execution."""
        report = require_legal(problem, schedule)
        program = machine_program(problem, schedule)
        found = compare(
            program,
            execute(program, what.contents, what.kernel),
            what.expected,
            dtypes=what.dtypes,
            tolerance=what.tolerance,
            totals=report.totals,
        )
        self.schedulers.add(name.partition(":")[0])
        self.schedules += 1
        self.commands += len(program.commands)
        self.moves += len(schedule.moves)
        self.tensors += found.tensors
        self.differing += not found.same
        self.rounding = max(self.rounding, found.largest_part)


def remembered(kernel: Kernel) -> Kernel:
    """Return a kernel that computes an operation once for the same bytes."""
    known: dict[tuple[int, bytes], Sequence[Bytes]] = {}

    def found(index: int, operands: Sequence[Bytes]) -> Sequence[Bytes]:
        key = index, fingerprint(operands)
        if key not in known:
            known[key] = kernel(index, operands)
        return known[key]

    return found


def measure(
    network: str, training: bool, batch: int | None, everything: bool = True, /, **parameters: int
) -> Figures:
    """Schedule a network in every way that is known, and execute each."""
    workload = spmopt.load(
        network,
        training=training,
        batch=batch,
        optimizer="adam" if training else None,
        parameters=parameters or None,
    )
    assert workload.graph is not None
    size = sum(value.size_bytes for value in workload.graph.values)
    spm = min(max(LEAST_BYTES, size // PART // 1024 * 1024), MOST_BYTES)
    tally = Tally()
    again, taken = timed(lambda: _all(workload, spm, tally, everything))
    return {
        "operations": len(spmopt.lower(workload, spmopt.machine(spm=spm)).operations),
        "tensors_mb": size / 1e6,
        "spm_kib": spm / 1024,
        "schedulers": len(tally.schedulers),
        "schedules": tally.schedules,
        "again": again if training else None,
        "moves": tally.moves if everything else None,
        "commands": tally.commands,
        "compared": tally.tensors,
        "differing": tally.differing,
        "rounding": tally.rounding,
        **taken,
    }


def _all(workload: spmopt.Workload, spm: int, tally: Tally, everything: bool) -> int:
    """Return how many operations one schedule computes again."""
    machine = spmopt.machine(spm=spm, page=PAGE)
    problem = spmopt.lower(workload, machine)
    what = _computation(problem, None, "integer")
    if not everything:
        name = GREEDY[4]
        tally.run(name, problem, spmopt.solve(problem, name, time_limit=LIMIT_S).schedule, what)
        return 0
    weights = sum(each.size_bytes for each in problem.tensors if each.kind == "weight")
    large = weights > LARGE_BYTES
    both = ("belady", "residency") if large else (*GREEDY, "residency")
    for on, names in ((machine, (*GREEDY, *OPTIMIZERS)), (_duplex(machine), both)):
        case = spmopt.lower(workload, on)
        table = spmopt.compare(case, names, time_limit=LIMIT_S)
        for name in names:
            tally.run(name, case, table[name].schedule, what)
    banked = _banked(machine)
    case = spmopt.lower(workload, banked)
    tally.run("banks", case, spmopt.solve(case, "banks", time_limit=LIMIT_S).schedule, what)
    if len(problem.operations) <= FEW:
        found = spmopt.solve(problem, "joint", objective="replay", time_limit=LIMIT_S)
        tally.run("joint", problem, found.schedule, what)
    _fusion(problem, tally)
    return _computed_again(workload, machine, what, tally)


def _duplex(machine: Machine) -> Machine:
    return spmopt.machine(machine, duplex=True)


def _banked(machine: Machine) -> Machine:
    """Return the machine with two memories: a small one, and one whose writes cost more."""
    pages = machine.spm_pages
    sizes = (pages // 4 * machine.page_bytes, (pages - pages // 4) * machine.page_bytes)
    costs = ((0.5, 0.5), (1.0, 8.0))
    banks = (
        Bank(spm_bytes=size, read_pj_per_byte=read, write_pj_per_byte=write)
        for size, (read, write) in zip(sizes, costs, strict=True)
    )
    return with_these(machine, tuple(banks))


def _fusion(problem: Problem, tally: Tally) -> None:
    """Execute the fusion plan that ``fusion`` finds, and one of single samples in stripes."""
    tileable = tileable_graph_of(problem)
    stripes = 2 if 2 in tileable.fusion_space().stripes else 1
    uniform = tileable.uniform(tileable.batch, stripes=stripes)
    free = spmopt.solve(problem, "fusion", time_limit=LIMIT_S)
    cut = spmopt.solve(problem, GREEDY[4], fusion_plan=uniform, time_limit=LIMIT_S)
    for name, found, data in (("fusion", free, ("integer",)), ("", cut, ("integer", "normal"))):
        fusion = found.result.fusion
        for each in data:
            what = _computation(
                problem, None if fusion is None else fusion.fusion_plan, each, found
            )
            tally.run(name or GREEDY[4], found.problem, found.schedule, what)


def _computation(
    problem: Problem, fusion_plan: FusionPlan | None, data: str, of: spmopt.Solution | None = None
) -> Computation:
    tileable = tileable_graph_for(problem, None, None)
    assert tileable is not None
    made = by_graph(tileable, fusion_plan, problem if of is None else of.problem, data, 0)
    return replace(made, kernel=remembered(made.kernel))


def _computed_again(
    workload: spmopt.Workload, machine: Machine, what: Computation, tally: Tally
) -> int:
    """Execute a training step that computes activations again, beside the one that keeps them."""
    assert workload.graph is not None
    graph, again = recomputed(workload.graph)
    if not again:
        return 0
    problem = spmopt.lower(spmopt.load(graph), machine)
    plain = spmopt.lower(workload, machine)
    own = _computation(problem, None, "integer")
    place = {tensor.name: t for t, tensor in enumerate(plain.tensors)}
    kept = [
        what.expected.contents[place[tensor.name]] if tensor.keep else given
        for tensor, given in zip(problem.tensors, own.expected.contents, strict=True)
    ]
    expected = Trace(contents=kept, read=own.expected.read)
    for name in (GREEDY[4], "residency"):
        found = spmopt.solve(problem, name, time_limit=LIMIT_S)
        tally.run(name, problem, found.schedule, replace(own, expected=expected))
    return again
