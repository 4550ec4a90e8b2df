"""The rule for required-resident operands, scratch and fetches, on its boundaries."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, Operand
from spmopt.graph.operators.spec import Gemm
from spmopt.graph.tiling import Tiling, tile
from tests.tiny import plain_machine

PAGE = 64
PLAIN = Gemm(m=1, k=1, n=1)


def machine(pages: int, spare_bytes: int = 0) -> Machine:
    return plain_machine(pages * PAGE + spare_bytes, page_bytes=PAGE)


def tiled(
    a: int, b: int, c: int, *, pages: int, gemm: Gemm = PLAIN, spare_bytes: int = 0
) -> Tiling:
    """Tensors 0, 1, 2 are A, B, C of the given sizes."""
    return tile(gemm, [0, 1], [2], [a, b, c], machine(pages, spare_bytes))


def is_(tiling: Tiling, operands: Mapping[int, Operand], scratch_bytes: int) -> bool:
    return (tiling.operands, tiling.scratch_bytes) == (operands, scratch_bytes)


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ((100, 50, 100), 1),
        ((50, 100, 100), 0),
        ((100, 100, 50), 2),
        # Of equals B before C before A.
        ((50, 50, 50), 1),
        ((50, 100, 50), 2),
    ],
)
def test_the_smallest_is_required_resident(sizes: tuple[int, int, int], kept: int) -> None:
    assert is_(tiled(*sizes, pages=10), {kept: REQUIRED_RESIDENT}, 0)


def test_half_of_the_pages_is_the_limit() -> None:
    half = 5 * PAGE
    assert is_(tiled(10**6, half, 10**6, pages=10), {1: REQUIRED_RESIDENT}, 0)
    # One byte more needs a sixth page: two panels, A twice.
    over = tiled(10**6, half + 1, 10**6, pages=10)
    assert is_(over, {0: Operand(fetches=2)}, 161)


def test_half_of_an_odd_or_ragged_scratchpad_is_rounded_down() -> None:
    half = 5 * PAGE
    for pages, spare in ((11, 0), (11, PAGE - 1), (10, PAGE - 1)):
        fits = tiled(10**6, half, 10**6, pages=pages, spare_bytes=spare)
        assert is_(fits, {1: REQUIRED_RESIDENT}, 0)
        over = tiled(10**6, half + 1, 10**6, pages=pages, spare_bytes=spare)
        assert over.scratch_bytes == 161


@pytest.mark.parametrize(
    ("size", "fetches", "panel"),
    [(10 * PAGE, 2, 5 * PAGE), (10 * PAGE + 1, 3, 214), (11 * PAGE, 3, 235), (15 * PAGE, 3, 320)],
)
def test_panels_are_as_even_as_the_fewest_passes_allow(size: int, fetches: int, panel: int) -> None:
    big = 10**6
    assert is_(tiled(big, size, big, pages=10), {0: Operand(fetches=fetches)}, panel)
    assert is_(tiled(size, big, big, pages=10), {1: Operand(fetches=fetches)}, panel)


def test_a_result_in_panels_repeats_the_smaller_input() -> None:
    size = 10 * PAGE
    assert is_(tiled(10**6, 10**5, size, pages=10), {1: Operand(fetches=2)}, 5 * PAGE)
    assert is_(tiled(10**5, 10**6, size, pages=10), {0: Operand(fetches=2)}, 5 * PAGE)


def test_one_slice_of_a_batch_is_enough() -> None:
    batched = Gemm(m=1, k=1, n=1, batch=4, slices=(4, 4, 4))
    sizes = 4000, 400, 4000
    assert is_(tiled(*sizes, pages=10, gemm=batched), {}, 100)
    # A slice over half the SPM goes in panels: 100 bytes are 2 panels of 1 page.
    assert is_(tiled(*sizes, pages=3, gemm=batched), {0: Operand(fetches=2)}, 50)


def test_a_slice_is_compared_with_slices() -> None:
    # B has 2 slices of 300 bytes, A has 8 of 200.
    uneven = Gemm(m=1, k=1, n=1, batch=8, slices=(8, 2, 8))
    assert is_(tiled(1600, 600, 8000, pages=10, gemm=uneven), {}, 200)


def test_a_role_of_two_tensors_is_kept_as_a_whole() -> None:
    gate = Gemm(m=1, k=1, n=1, a=(0, 1), b=(2,))
    small, big = PAGE + 1, 10**6
    kept = tile(gate, [0, 1, 2], [3], [small, small, big, big], machine(8))
    assert is_(kept, {0: REQUIRED_RESIDENT, 1: REQUIRED_RESIDENT}, 0)
    # 130 bytes fit in 3 pages of 64, the two tensors with their own pages in 4.
    panel = tile(gate, [0, 1, 2], [3], [small, small, big, big], machine(7))
    assert is_(panel, {}, 2 * small)


def test_other_operands_stream_and_a_square_repeats_its_only_input() -> None:
    biased = tile(PLAIN, [0, 1, 2], [3], [999, 99, 9, 999], machine(10))
    assert is_(biased, {1: REQUIRED_RESIDENT}, 0)
    square = tile(PLAIN, [0, 0], [1], [10 * PAGE, 10**6], machine(10))
    assert is_(square, {0: Operand(fetches=2)}, 5 * PAGE)


def test_one_page_holds_panels_only() -> None:
    assert is_(tiled(10**6, PAGE, 10**6, pages=1), {}, PAGE)
    assert is_(tiled(10**6, 1, 10**6, pages=1), {}, 1)
    assert is_(tiled(10**6, 2 * PAGE, 10**6, pages=1), {0: Operand(fetches=2)}, PAGE)


_bytes = st.integers(1, 2000)


@given(
    st.lists(_bytes, min_size=4, max_size=4),
    st.integers(1, 30),
    st.integers(0, PAGE - 1),
    st.sampled_from([(1, 1, 1), (3, 3, 3), (6, 2, 6)]),
)
def test_required_resident_and_scratch_always_fit(
    sizes: list[int], pages: int, spare: int, slices: tuple[int, int, int]
) -> None:
    gemm = Gemm(m=1, k=1, n=1, a=(0, 1), b=(2,), slices=slices)
    small = machine(pages, spare)
    tiling = tile(gemm, [0, 1, 2], [3], sizes, small)
    required_resident = [t for t, operand in tiling.operands.items() if operand.required_resident]
    needed = sum(-(-sizes[t] // PAGE) for t in required_resident) + -(-tiling.scratch_bytes // PAGE)
    assert 1 <= needed <= max(pages // 2, 1)
    fetches = [
        operand.fetches for operand in tiling.operands.values() if not operand.required_resident
    ]
    smallest = min(
        -(-size // count)
        for size, count in zip((sizes[0] + sizes[1], sizes[2], sizes[3]), slices, strict=True)
    )
    if tiling.scratch_bytes:
        assert max(fetches, default=1) == -(-smallest // tiling.scratch_bytes)
