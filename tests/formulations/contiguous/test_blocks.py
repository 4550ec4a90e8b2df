"""Blocks over time: what is taken, how long they may last, and how they are let down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.contiguous.blocks import Block, blocks_of, lengthen
from formulations.contiguous.memory import SpmMap
from formulations.contiguous.schedule import _gain
from formulations.contiguous.stack import ContiguousCase, in_pages, settle
from formulations.contiguous.window import StepWindow, whole
from spmopt.core.objective import MAKESPAN
from spmopt.core.result import Certificate
from spmopt.core.schedule import Residency
from spmopt.core.timeline import Timeline, timeline_in_order
from tests.tiny import Op, tiny


def block(tensor: int, begin: int, heights: Sequence[int], base: int = -1) -> Block:
    return Block(tensor=tensor, begin=begin, heights=np.array(heights), base=base)


def readers(names: Sequence[str], **machine: int) -> ContiguousCase:
    """Steps that read the tensors with these one-letter names, of two pages each, without "-"."""
    letters = sorted(set("".join(names)) - {"-"})
    operations = [Op(reads=" ".join(name.replace("-", "")), cycles=1) for name in names]
    problem = tiny(dict.fromkeys(letters, (8, "in")), operations, spm=40, **machine)
    return ContiguousCase(problem, timeline_in_order(problem), MAKESPAN)


def test_what_is_taken_for_hundreds_of_steps_is_taken_in_each_of_them() -> None:
    memory = SpmMap(10, np.zeros(200, np.int64), first=5)
    memory.take(0, 2, 10, np.full(150, 3))
    for step in range(5, 205):
        taken = memory.around(step, step + 1, -2)
        expected = ([2], [5]) if 10 <= step < 160 else ([], [])
        assert (taken.low.tolist(), taken.high.tolist()) == expected
    taken = memory.around(5, 205, -2)
    assert (taken.begin.min(), taken.end.max()) == (10, 160)


def test_no_byte_of_a_tensor_far_smaller_than_a_page_is_not_all_of_it() -> None:
    pages = in_pages(np.array([4, 4]), 2**50, np.array([0.0, 4.0 - 1e-9]))
    assert pages.tolist() == [0, 4]


def test_scratch_lies_at_the_top() -> None:
    memory = SpmMap(10, np.array([0, 3, 0]))
    assert memory.around(1, 2, -2).low.tolist() == [7]
    low, high = memory.around(0, 3, -2).free_runs(10)
    assert (low.tolist(), high.tolist()) == ([0], [7])


def test_taking_again_gives_back_first() -> None:
    memory = SpmMap(10, np.zeros(4, np.int64))
    memory.take(0, 2, 1, np.array([3, 3, 5]))
    assert memory.around(0, 4, -2).high.tolist() == [5, 7]
    memory.take(0, 2, 1, np.array([1]))
    taken = memory.around(0, 4, -2)
    assert (taken.low.tolist(), taken.high.tolist()) == ([2], [3])
    low, high = taken.free_runs(10)
    assert (low.tolist(), high.tolist()) == ([0, 3], [2, 10])


def test_rows_that_adjoin_make_one_block_for_each_tensor() -> None:
    case = readers(["ab", "ab", "ab", "ab", "ab"])
    rows = Residency(
        tensor=np.array([0, 0, 0, 1]),
        begin=np.array([0, 1, 4, 1]),
        end=np.array([1, 3, 5, 4]),
        size_bytes=np.array([8, 4, 5, 1]),
    )
    found = blocks_of(rows, case.problem.machine)
    assert [(one.tensor, one.begin, one.heights.tolist()) for one in found] == [
        (0, 0, [2, 1, 1]),
        (0, 4, [2]),
        (1, 1, [1, 1, 1]),
    ]


def test_a_block_may_last_thirty_steps_beyond_the_uses_around_it() -> None:
    case = readers(["b"] * 60 + ["ab", "b", "ab"] + ["b"] * 60)
    window = whole(case.line)
    memory = case.memory(window)
    alone = block(0, 60, [1, 1], base=1)
    assert lengthen([alone], memory, window, case.uses).tolist() == [[30, 93]]
    memory.take(1, 0, 50, np.array([2]))
    other = block(1, 50, [2], base=0)
    assert lengthen([alone, other], memory, window, case.uses)[0].tolist() == [51, 93]


def test_each_cell_knows_the_block_that_holds_it() -> None:
    case = readers(["a", "-", "ab", "-", "a"])
    blocks = [block(0, 0, [2, 2]), block(0, 3, [2, 2]), block(1, 2, [2])]
    spans = np.array([(0, 2), (3, 5), (2, 3)])
    part = case.part(blocks, spans, whole(case.line))
    columns = (part.cells.tensor, part.cells.step, part.owner)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    assert sorted(rows) == [(0, 0, 0), (0, 1, 0), (0, 2, -1), (0, 3, 1), (0, 4, 1), (1, 2, 2)]


def test_cells_of_a_window_are_those_of_its_steps_and_edges() -> None:
    case = readers(["a", "a", "-", "a", "a", "a"])
    window = StepWindow(begin=3, end=5, steps=6)
    blocks = [block(0, 2, [2, 2, 2, 2])]
    part = case.part(blocks, np.array([(2, 6)]), window)
    assert part.cells.step.tolist() == [2, 3, 4, 5]
    assert part.owner.tolist() == [0, 0, 0, 0]
    assert part.cells.previous.tolist() == [-1, 0, 1, 2]


def let_down(bases: Sequence[int], fixed: Sequence[bool]) -> list[float] | None:
    """Where blocks of two pages and one step come to lie, if they can."""
    blocks = [block(k, 0, [2], base) for k, base in enumerate(bases)]
    if not settle(blocks, np.array(fixed), SpmMap(10, np.zeros(1, np.int64))):
        return None
    return [one.base for one in blocks]


def test_blocks_are_let_down_but_for_those_that_are_fixed() -> None:
    assert let_down([1, 4, 7], [False, False, False]) == [0, 2, 4]
    assert let_down([1, 4, 7], [False, True, False]) == [0, 4, 6]
    assert let_down([0, 2], [True, True]) == [0, 2]
    assert let_down([0, 1], [True, True]) is None


def gains(line: Timeline, dram_in: Sequence[int]) -> list[float]:
    free, duals = np.zeros(line.steps, np.int64), np.array(dram_in)
    found: list[float] = _gain(
        line,
        Certificate(objective=MAKESPAN, bits=0, spm=free, dram_in=duals, dram_out=free),
    ).tolist()
    return found


def test_what_is_read_while_the_channel_idles_is_kept_last() -> None:
    line = readers(["a", "b", "a", "b"]).line
    idle, busy, *never = gains(line, [0, 0, 0, 4])
    assert busy == 4
    assert 0 < idle < busy / 1000
    assert never == [0, 0]
