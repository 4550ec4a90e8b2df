"""Where batches begin, against a walk through the steps."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.instance import Instance, Tensor
from spmopt.core.operation import Mode, Operand, Operation
from spmopt.core.timeline import listed_timeline
from spmopt.policies.double_buffer.batches import batched
from tests.policies.owed import random_instances
from tests.tiles.cases import machine


def walked(instance: Instance) -> list[int]:
    """Add operation after operation as long as the tensors so far and the scratch fit in half."""
    page, half = instance.machine.page_bytes, instance.machine.spm_pages // 2
    found, used, scratch = [0], set[int](), 0
    for step, operation in enumerate(instance.operations):
        own = -(-operation.modes[0].scratch_bytes // page)
        used, scratch = used | set(operation.tensors), max(scratch, own)
        pages = sum(-(-instance.tensors[t].size_bytes // page) for t in used)
        if pages + scratch > half and step > found[-1]:
            found.append(step)
            used, scratch = set(operation.tensors), own
    return [*found, len(instance.operations)]


def found(instance: Instance) -> list[int]:
    cut, _ = batched(instance.machine, listed_timeline(instance), "shared")
    begins: list[int] = cut.begin.tolist()
    return begins


def test_of_any_instance() -> None:
    for instance in random_instances(150):
        assert found(instance) == walked(instance)


def reading(uses: list[set[int]], sizes: list[int], scratch: list[int], half: int) -> Instance:
    """Operations that read tensors of ``sizes``, the first of them with scratch."""
    operations = tuple(
        Operation(
            name=f"o{step}",
            reads=tuple(used),
            writes=(),
            modes=(
                Mode(
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
    return Instance(name="long", machine=small, tensors=tensors, operations=operations)


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
    instance = reading(uses * times, sizes, scratch, half)
    assert found(instance) == walked(instance)


def test_scratch_counts_for_all_of_a_long_batch() -> None:
    uses = [{0}] * 900 + [{1}] * 3
    assert found(reading(uses, [1, 6], [4], half=12)) == [0, 903]
    assert found(reading(uses, [1, 6], [5, 3], half=11)) == [0, 900, 903]
    assert found(reading(uses, [1, 6], [0, 5], half=11)) == [0, 900, 903]
