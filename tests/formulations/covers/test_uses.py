"""Listings whose operations use a tensor in different ways: bounds that hold for all covers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from spmopt.core.instance import Tensor
from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.operation import STATIONARY, STREAMED, Mode, Operand
from spmopt.core.pieces.band_bounds import Skews
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.row_windows import Rows, Window
from spmopt.core.pieces.segments import ListedOperation, PieceModes, Segment
from spmopt.graph.build import GraphBuilder
from spmopt.graph.listing import listing
from spmopt.hardware.machines import load_machine
from spmopt.verifier.cover_bound import CoverPath, cover_bound
from tests.formulations.covers.random_listing import covers, random_listing
from tests.formulations.covers.test_segments import relaxed


def operation(
    name: str, reads: tuple[int, ...], writes: tuple[int, ...], cut: tuple[int, ...]
) -> ListedOperation:
    sums = frozenset(writes) - {*cut}
    return ListedOperation(name=name, reads=reads, writes=writes, cut=frozenset(cut), sums=sums)


def mode(*operands: Operand, scratch: int = 0) -> Mode:
    return Mode(compute_cycles=0, operands=operands, scratch_bytes=scratch)


def listing_of(
    *operations: ListedOperation, sizes: tuple[int, ...], spm: int, batch: int
) -> Listing:
    machine = Machine(
        name="bytes",
        spm_bytes=spm,
        dram_bytes_per_s=1,
        clock_hz=1,
        operations_per_s=1,
        page_bytes=1,
    )
    written = {t for each in operations for t in each.writes}
    tensors = tuple(
        Tensor(name=f"t{t}", size_bytes=size, in_dram=t not in written, keep=False)
        for t, size in enumerate(sizes)
    )
    return Listing(
        name="uses",
        machine=machine,
        tensors=tensors,
        operations=operations,
        batch=batch,
        lowering="custom",
    )


def least(found: Listing, name: str) -> tuple[float, float]:
    """Return the bound over all covers, and what the cheapest of all costs."""
    objective = objective_named(name, found.machine)
    figures = Listed(found, objective)
    arcs = SegmentArcs(figures, float(figures.capacity))
    value = arcs.cheapest(lambda: False).value
    exact = float(cover_bound(found, arcs.certificate()))
    assert exact == pytest.approx(value, rel=1e-6)
    known = [relaxed(found, cover, objective) for cover in covers(found)]
    return exact, min(value[1] for value in known if value is not None)


@pytest.mark.parametrize("name", ["time", "traffic"])
def test_what_a_segment_cuts_is_whole_to_none_of_its_operations(name: str) -> None:
    """One reads a piece of ``t0``, the other all of it for each piece: 4 bytes and 16.

    They would be 16 and 16 were it whole to both, and 56 where neither is in pieces.
    """
    read = operation("read", (0,), (1,), (0, 1))
    use = operation("use", (1, 0), (), (1,))
    for each in (read, use):
        for pieces in (1, 2, 4):
            one = mode(STREAMED, STREAMED)
            each.modes[pieces] = PieceModes(one, one)
    found = listing_of(read, use, sizes=(4, 32), spm=8, batch=4)
    assert "t0 is cut in the segment" in found.obstacle(Segment(begin=0, end=2, pieces=4))
    assert not found.obstacle(Segment(begin=0, end=2))
    exact, value = least(found, name)
    assert exact <= value * (1 + 1e-9)


def test_a_graph_may_have_such_an_input() -> None:
    """Of time, batch and width: cut where its axes change places, whole as a matrix of vectors."""
    b = GraphBuilder("whole")
    x, u = b.input("x", (3, 4, 4)), b.input("u", (4, 12))
    turned = b.add("Transpose", [x], name="turned", perm=(1, 0, 2))
    rows = b.add("Reshape", [x], name="rows", shape=(12, 4))
    y = b.add("MatMul", [u, rows], name="y")
    flat = b.add("Reshape", [turned], name="flat", shape=(4, 12))
    joined = b.add("Concat", [flat, y], name="joined", axis=1)
    found = listing(b.finish([b.add("Relu", [joined], name="z")]), load_machine("rtx2080ti"))
    assert found.batch == 4
    assert all(4 in each.modes for each in found.operations)
    assert "x is cut in the segment" in found.obstacle(Segment(begin=0, end=2, pieces=4))
    assert not found.obstacle(Segment(begin=1, end=4, pieces=4))


def test_nor_do_bands_of_rows_cut_what_is_whole_to_one() -> None:
    rows = Rows(count=4, windows={2: Window(size=4)})
    some = [
        ListedOperation(name="a", reads=(0,), writes=(1,), cut=frozenset({0, 1}), rows=rows),
        ListedOperation(name="b", reads=(0,), writes=(2,), cut=frozenset({2}), rows=rows),
    ]
    assert Skews(some, 2).reach == [1, 2]


def test_a_sum_that_is_begun_whole_is_the_operand_that_its_mode_says() -> None:
    """Later pieces read the sum ``t1`` first, so that its mode has another place in theirs."""
    both = operation("both", (0,), (2, 1), (0, 2))
    assert both.uses(0) != both.uses(1)
    first = mode(STREAMED, STATIONARY, STREAMED)
    both.modes[1] = PieceModes(first, first)
    exact, value = least(listing_of(both, sizes=(4, 12, 4), spm=8, batch=2), "traffic")
    assert exact <= value * (1 + 1e-9)


def test_a_family_of_few_products_has_few_in_bands_of_one_piece() -> None:
    """As the bound over it has it."""
    b = GraphBuilder("two products")
    x = b.input("x", (1, 2, 8, 2))
    for k in range(2):
        x = b.add("Conv", [x, b.weight(f"w{k}", (2, 2, 1, 1))], name=f"c{k}")
    found = listing(b.finish([x]), load_machine("rtx2080ti"))
    family = Family(name="few", pieces=(1,), bands=(1, 2), most_products=1)
    banded = Segment(begin=0, end=2, bands=2)
    assert not found.obstacle(banded)
    assert "2 matrix products in 2 pieces" in found.outside(family, (banded,))
    assert not found.outside(family, (Segment(begin=0, end=2),))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans())
def test_bytes_that_come_and_go_in_any_case_are_all_where_everything_fits(
    seed: int, which: int, few: bool
) -> None:
    """No cover costs less; nor, with a scratchpad that holds all, more of traffic."""
    found = random_listing(seed)
    every = list(covers(found))
    cover = every[which % len(every)]
    if not few:
        found = replace(found, machine=replace(found.machine, spm_bytes=10**4))
    for name in ("traffic", "time"):
        objective = objective_named(name, found.machine)
        value = relaxed(found, cover, objective)
        if value is None:
            assert few
            return
        proof = CoverCertificate(family=found.family(), objective=objective, bits=60, prices={})
        least = float(CoverPath(found, proof).compulsory())
        assert least == pytest.approx(Listed(found, objective).compulsory, rel=1e-9)
        assert least <= value[1] * (1 + 1e-9)
        if name == "traffic" and not few:
            assert least >= value[0] * (1 - 1e-6)
