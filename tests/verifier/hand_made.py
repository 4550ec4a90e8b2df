"""Small legal schedules written out by hand, with totals computed by hand.

Pages have 4 bytes, and DRAM moves one byte per cycle, unless a case says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operand, Operation
from spmopt.core.problem import Problem, Tensor
from spmopt.core.result import Totals
from spmopt.core.schedule import Schedule
from tests.verifier.builders import IN, LOAD, OUT, STORE, machine, operation, schedule, tensor


@dataclass(frozen=True, kw_only=True)
class Case:
    """A legal schedule and what it must cost."""

    problem: Problem
    schedule: Schedule
    totals: Totals
    step_cycles: tuple[int, ...]


def totals(
    makespan: int, replay: int, dma: tuple[int, int, int], compute: int, peak: int
) -> Totals:
    """``dma``: bytes in, bytes out, cycles. The operation count follows from 2 macs each."""
    return Totals(
        makespan_cycles=makespan,
        replay_cycles=replay,
        dram_in_bytes=dma[0],
        dram_out_bytes=dma[1],
        dma_cycles=dma[2],
        compute_cycles=compute,
        peak_spm_bytes=peak,
        macs=0,
        spm_read_bytes=0,
        spm_write_bytes=0,
    )


def case(
    tensors: tuple[Tensor, ...],
    operations: tuple[Operation, ...],
    on: Machine,
    residency_plan: Schedule,
    expected: tuple[Totals, tuple[int, ...]],
) -> Case:
    """Add to the totals what every operation spends; no tensor lies in fusion tiles."""
    count = len(operations)
    spent = replace(
        expected[0],
        macs=2 * count,
        spm_read_bytes=3 * count,
        spm_write_bytes=5 * count,
        dma_commands=len(residency_plan.commands),
        dma_descriptors=len(residency_plan.commands),
    )
    problem = Problem(name="hand", machine=on, tensors=tensors, operations=operations)
    return Case(problem=problem, schedule=residency_plan, totals=spent, step_cycles=expected[1])


def two_layers() -> Case:
    """``y = x w``, ``z = y w``: w is loaded once, y stays, x and z are streamed.

    Half a cycle a byte and one cycle a command: each command takes 5. Step 0: two commands, 10
    cycles, as long as the computation. Step 1: z, 5 cycles.
    """
    on = replace(machine(4, setup=1), dram_bytes_per_s=2)
    tensors = (tensor("x", 8, "d"), tensor("w", 8, "d"), tensor("y", 8), tensor("z", 8, "k"))
    operations = (
        operation("first", (0, 1), (2,), 10),
        operation("second", (2, 1), (3,), 3, after=(0,)),
    )
    residency_plan = schedule(
        2,
        [(1, 0, 2, 8), (2, 0, 2, 8)],
        [(0, LOAD, 1, 0, 8, 1), (0, IN, 0, 0, 8, 1), (1, OUT, 3, 0, 8, 1)],
        [(1, 0, 2, 0, 0, 2), (2, 0, 2, 2, 0, 2)],
    )
    return case(
        tensors, operations, on, residency_plan, (totals(15, 15, (16, 8, 15), 13, 16), (10, 5))
    )


def required_resident(duplex: bool = False) -> Case:
    """a and c are required-resident: L = 8, S = 4, X = 16, computation 5: d = 8 + 5 + 4 = 17.

    Duplex: in + S = 16, L + out = 12: no change. The scratch of 3 bytes takes the last page.
    """
    tensors = (tensor("a", 8, "d"), tensor("b", 4, "d"), tensor("c", 4, "k"))
    operations = (
        operation(
            "gemm",
            (0, 1),
            (2,),
            5,
            operands=(REQUIRED_RESIDENT, STREAMED, REQUIRED_RESIDENT),
            scratch=3,
        ),
    )
    residency_plan = schedule(
        1,
        [(0, 0, 1, 8), (2, 0, 1, 4)],
        [(0, LOAD, 0, 0, 8, 1), (0, IN, 1, 0, 4, 1), (0, STORE, 2, 0, 4, 1)],
        [(0, 0, 2, 1, 0, 1), (2, 0, 1, 3, 0, 1), (-1, 0, 1, 0, 0, 1)],
    )
    figures = totals(17, 17, (12, 4, 16), 5, 16)
    return case(tensors, operations, machine(4, duplex=duplex), residency_plan, (figures, (17,)))


def fetches(duplex: bool = False) -> Case:
    """Half of x and y is resident; x crosses twice, y three times out and twice in.

    With 2 cycles a command: load 6, x 10, y out 14, y in 10, store of y 6; X = 46. Duplex:
    in = 26, out = 20.
    """
    tensors = (tensor("x", 8, "d"), tensor("y", 8, "k"))
    operations = (
        operation("gemm", (0,), (1,), 20, operands=(Operand(fetches=2), Operand(fetches=3))),
    )
    residency_plan = schedule(
        1,
        [(0, 0, 1, 4), (1, 0, 1, 4)],
        [
            (0, LOAD, 0, 0, 4, 1),
            (0, IN, 0, 4, 8, 2),
            (0, IN, 1, 4, 8, 2),
            (0, OUT, 1, 4, 8, 3),
            (0, STORE, 1, 0, 4, 1),
        ],
        [(0, 0, 1, 0, 0, 1), (1, 0, 1, 1, 0, 1)],
    )
    time = 26 if duplex else 46
    figures = totals(time, time, (20, 16, 46), 20, 8)
    return case(tensors, operations, machine(2, 2, duplex), residency_plan, (figures, (time,)))


def in_place(duplex: bool = False) -> Case:
    """w is updated with half of it resident, then read; results d (blind) and e are dead.

    Step 0: load 4, stream in 4, stream out 4, store 4; X = 16, duplex 8. Step 1: w streamed
    from DRAM, 8; d leaves no trace. Step 2: e is streamed in, not out: 4.
    """
    tensors = (tensor("w", 8, "dk"), tensor("d", 8), tensor("e", 4, "d"))
    operations = (
        operation("update", (0,), (0,), 3),
        operation("blind", (0,), (1,), 1, after=(0,)),
        operation("dead", (2,), (2,), 2),
    )
    residency_plan = schedule(
        3,
        [(0, 0, 1, 4)],
        [
            (0, LOAD, 0, 0, 4, 1),
            (0, IN, 0, 4, 8, 1),
            (0, OUT, 0, 4, 8, 1),
            (0, STORE, 0, 0, 4, 1),
            (1, IN, 0, 0, 8, 1),
            (2, IN, 2, 0, 4, 1),
        ],
        [(0, 0, 1, 0, 0, 1)],
    )
    steps = (8, 8, 4) if duplex else (16, 8, 4)
    figures = totals(sum(steps), sum(steps), (20, 8, 28), 6, 4)
    return case(tensors, operations, machine(1, duplex=duplex), residency_plan, (figures, steps))


def run_ahead() -> Case:
    """The load of step 1 runs while step 0 computes: 20 cycles in steps, 12 in the replay.

    Step 0: x streamed 2, computation 10. Step 1: y loaded 10, computation 1.
    """
    tensors = (tensor("x", 2, "d"), tensor("y", 10, "d"))
    operations = (operation("long", (0,), (), 10), operation("short", (1,), (), 1))
    residency_plan = schedule(
        2,
        [(1, 1, 2, 10)],
        [(0, IN, 0, 0, 2, 1), (1, LOAD, 1, 0, 10, 1)],
        [(1, 0, 3, 0, 1, 2)],
    )
    figures = totals(20, 12, (12, 0, 12), 11, 12)
    return case(tensors, operations, machine(3), residency_plan, (figures, (10, 10)))


def reuse() -> Case:
    """Growth, early store, eviction and reload, a page reused, a scratch page between.

    Step 0 makes y (8 bytes, resident in full) and stores its upper half. Step 1 keeps its lower
    half, needs a page of scratch, and stores that half. Step 2 has no page for y. Step 3 loads
    it again, in full, and reads it; z is made in step 2 and stored in step 3.
    """
    tensors = (tensor("y", 8), tensor("x", 4, "d"), tensor("z", 8, "k"))
    operations = (
        operation("make", (), (0,), 9),
        operation("other", (1,), (), 6, scratch=4),
        operation("fill", (1,), (2,), 7),
        operation("last", (0, 1), (), 1, after=(0,)),
    )
    residency_plan = schedule(
        4,
        [(0, 0, 1, 8), (0, 1, 2, 4), (0, 3, 4, 8), (2, 2, 4, 8)],
        [
            (0, STORE, 0, 4, 8, 1),
            (1, IN, 1, 0, 4, 1),
            (1, STORE, 0, 0, 4, 1),
            (2, IN, 1, 0, 4, 1),
            (3, LOAD, 0, 0, 8, 1),
            (3, IN, 1, 0, 4, 1),
            (3, STORE, 2, 0, 8, 1),
        ],
        [
            (0, 0, 1, 0, 0, 2),
            (0, 1, 1, 1, 0, 1),
            (-1, 0, 1, 1, 1, 2),
            (2, 0, 2, 0, 2, 4),
            (0, 0, 2, 2, 3, 4),
        ],
    )
    # Replay: step 0 ends at 9. Step 1 computes until 15; x 9 to 13, store of page 0 13 to 17.
    # Step 2 overwrites page 0, so it starts at 17 and ends at 24; x 17 to 21. The load runs
    # ahead, 21 to 29; x 29 to 33; step 3, started at 24, ends; the store ends at 41.
    figures = totals(44, 41, (20, 16, 36), 23, 16)
    return case(tensors, operations, machine(4), residency_plan, (figures, (9, 8, 7, 20)))


def all_cases() -> dict[str, Case]:
    """By name."""
    return {
        "two_layers": two_layers(),
        "required_resident": required_resident(),
        "required_resident_duplex": required_resident(duplex=True),
        "fetches": fetches(),
        "fetches_duplex": fetches(duplex=True),
        "in_place": in_place(),
        "in_place_duplex": in_place(duplex=True),
        "run_ahead": run_ahead(),
        "reuse": reuse(),
    }
