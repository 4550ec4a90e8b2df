"""Where batches begin, against a walk through the steps."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor
from spmopt.core.timeline import timeline_in_order
from spmopt.policies.double_buffer.batches import batch
from tests.policies.owed import random_problems
from tests.tiles.cases import machine


def walked(problem: Problem) -> list[int]:
    """Add operation after operation as long as the tensors so far and the scratch fit in half."""
    page, half = problem.machine.page_bytes, problem.machine.spm_pages // 2
    found, used, scratch = [0], set[int](), 0
    for step, operation in enumerate(problem.operations):
        own = -(-operation.mappings[0].scratch_bytes // page)
        used, scratch = used | set(operation.tensors), max(scratch, own)
        pages = sum(-(-problem.tensors[t].size_bytes // page) for t in used)
        if pages + scratch > half and step > found[-1]:
            found.append(step)
            used, scratch = set(operation.tensors), own
    return [*found, len(problem.operations)]


def found(problem: Problem) -> list[int]:
    cut, _ = batch(problem.machine, timeline_in_order(problem), "shared")
    begins: list[int] = cut.begin.tolist()
    return begins


def test_of_any_problem() -> None:
    for problem in random_problems(150):
        assert found(problem) == walked(problem)


def reading(uses: list[set[int]], sizes: list[int], scratch: list[int], half: int) -> Problem:
    """Operations that read tensors of ``sizes``, the first of them with scratch."""
    operations = tuple(
        Operation(
            name=f"o{step}",
            reads=tuple(used),
            writes=(),
            mappings=(
                OpMapping(
                    compute_cycles=1,
                    operands=(Operand(),) * len(used),
                    scratch_bytes=scratch[step] if step < len(scratch) else 0,
                ),
            ),
        )
        for step, used in enumerate(uses)
    )
    tensors = tuple(
        Tensor(name=f"t{number}", size_bytes=size, in_dram=True)
        for number, size in enumerate(sizes)
    )
    small = machine(2 * half, page_bytes=1)
    return Problem(name="long", machine=small, tensors=tensors, operations=operations)


@settings(max_examples=60, deadline=None)
@given(
    uses=st.lists(st.sets(st.integers(0, 30), max_size=4), min_size=1, max_size=60),
    times=st.integers(1, 12),
    sizes=st.lists(st.integers(1, 9), min_size=31, max_size=31),
    scratch=st.lists(st.sampled_from([0, 0, 3, 7]), max_size=200),
    half=st.integers(9, 200),
)
def test_of_batches_of_any_length(
    uses: list[set[int]], times: int, sizes: list[int], scratch: list[int], half: int
) -> None:
    problem = reading(uses * times, sizes, scratch, half)
    assert found(problem) == walked(problem)


def test_scratch_counts_for_all_of_a_long_batch() -> None:
    uses = [{0}] * 900 + [{1}] * 3
    assert found(reading(uses, [1, 6], [4], half=12)) == [0, 903]
    assert found(reading(uses, [1, 6], [5, 3], half=11)) == [0, 900, 903]
    assert found(reading(uses, [1, 6], [0, 5], half=11)) == [0, 900, 903]
