"""What is claimed of pieces is recomputed: instance, bound over all covers, status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from spmopt.audit import Audit, audit, restored
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.pieces.certificate import CoverCertificate, Row
from spmopt.core.pieces.listing import Pieces
from spmopt.core.pieces.segments import Segment
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Request
from spmopt.graph.build import GraphBuilder
from spmopt.graph.listing import listing
from spmopt.graph.training import training_graph
from spmopt.io.files import StoredResult, decode_result, encode_result
from spmopt.reporting.verification import verification_lines, verification_record
from spmopt.solving import solve
from spmopt.verifier.cover_bound import cover_bound
from tests.graph.networks import convolution, mlp
from tests.in_pieces import MACHINE, of_graph, perceptron

Prices = Mapping[Segment, Mapping[Row, int]]
INSTANCE, RESULT = perceptron().instance, perceptron().result


def pieces(result: Result = RESULT) -> Pieces:
    assert result.pieces is not None
    return result.pieces


def certificate(result: Result = RESULT) -> CoverCertificate:
    found = pieces(result).certificate
    assert found is not None
    return found


def with_pieces(**changes: Any) -> Result:
    return replace(RESULT, pieces=replace(pieces(), **changes))


def with_prices(prices: Prices, **changes: Any) -> Result:
    return with_pieces(certificate=replace(certificate(), prices=prices, **changes))


def complaints(result: Result, instance: Instance = INSTANCE) -> list[str]:
    return [str(each) for each in audit(instance, result).violations]


def complaint(result: Result, instance: Instance = INSTANCE) -> str:
    (found,) = complaints(result, instance)
    return found


def test_true_claims_stand() -> None:
    for stored in (
        perceptron(),
        of_graph(training_graph(convolution()), 2, objective="energy"),
        of_graph(convolution(), 2, objective="traffic"),
    ):
        for each in (stored, restored(decode_result(encode_result(stored)))):
            found = audit(each.instance, each.result)
            assert found.violations == ()
            assert found.cover_bound == each.result.cover_bound


def banded() -> StoredResult:
    """Two convolutions in bands of rows, and what is behind them as a whole."""
    b = GraphBuilder("rows")
    x = b.input("x", (2, 2, 8, 4))
    for k in range(2):
        w = b.weight(f"w{k}", (2, 2, 3, 3))
        x = b.add("Conv", [x, w], name=f"c{k}", pads=(1, 1, 1, 1))
    flat = b.add("Flatten", [x], name="flat")
    found = listing(b.finish([b.add("Gemm", [flat, b.weight("v", (64, 3))], name="y")]), MACHINE)
    cover = (Segment(begin=0, end=2, pieces=2, bands=2), Segment(begin=2, end=3))
    instance, _ = found.instance(cover)
    result = solve(instance, "page", Request(threads=1))
    given = Pieces(listing=found, cover=cover, instance=instance)
    return StoredResult(
        instance=instance, result=replace(result, pieces=given, status=Status.FEASIBLE)
    )


def test_results_in_bands_of_rows_are_stored_and_checked() -> None:
    stored = banded()
    document = encode_result(stored)
    assert document["pieces"]["cover"]["bands"] == [2, 1]
    assert document["pieces"]["loops"][0]["rows"] == [[0, 4, 8], [0, 3, 8]]
    assert "rows" not in document["pieces"]["loops"][1]
    assert "bands" not in encode_result(perceptron())["pieces"]["cover"]
    again = restored(decode_result(document))
    found = audit(again.instance, again.result)
    assert found.violations == ()
    text = "\n".join(verification_lines(again.instance, again.result, found))
    assert (
        "2 groups, up to 2 micro-batches of 2 stripes; expands to the file's 9 operations" in text
    )
    operations = list(stored.instance.operations)
    assert operations[7].name == "c1[1][3:8]"
    other = stored.instance.tensor_names.index("c0[0][2:4]")
    operations[7] = replace(operations[7], reads=(other, *operations[7].reads[1:]))
    wrong = complaints(stored.result, replace(stored.instance, operations=tuple(operations)))
    assert any("c1[1][3:8]: reads index 1 of axis 0, index 2 of axis 2 of c0" in w for w in wrong)
    document["pieces"]["cover"]["bands"] = [9, 1]
    with pytest.raises(InputError, match="segment 0 to 2: c0 has no rows to compute, or to take"):
        restored(decode_result(document))


def test_a_bound_without_bands_says_nothing_of_a_cover_with_them() -> None:
    stored = banded()
    family = pieces(stored.result).listing.family("batch")
    proof = CoverCertificate(family=family, objective=MAKESPAN, bits=10, prices={})
    given = replace(pieces(stored.result), certificate=proof)
    bound = cover_bound(given.listing, proof)
    claimed = replace(stored.result, pieces=given, cover_bound=bound)
    assert complaint(claimed, stored.instance) == (
        "claim: the bound is over other covers than the schedule's: "
        "segment 0 to 2: is in 2 bands of rows"
    )


def test_a_bound_over_all_covers_is_what_the_prices_prove() -> None:
    bound = RESULT.cover_bound
    assert bound is not None
    higher = replace(RESULT, cover_bound=bound + 1)
    assert f"prove a bound of {bound} over all covers, but {bound + 1} is" in complaint(higher)
    assert "over all covers, but none is claimed" in complaint(replace(RESULT, cover_bound=None))
    assert "over all covers is claimed, but there are no prices" in complaint(
        with_pieces(certificate=None)
    )
    assert "over all covers is claimed, but there is no cover" in complaint(
        replace(RESULT, pieces=None)
    )
    assert "the prices prove a bound of" in complaint(with_prices({}))
    assert not complaints(replace(with_pieces(certificate=None), cover_bound=None))


def test_prices_that_prove_nothing() -> None:
    prices = dict(certificate().prices)
    segment = next(iter(prices))
    strange: Prices = {**prices, segment: {("grows", 99, 99): 1}}
    assert "no row is called ('grows', 99, 99)" in complaint(with_prices(strange))
    for wrong, said in (
        (Segment(begin=0, end=99), "segment 0 to 99 in 1 pieces is none"),
        (Segment(begin=0, end=1, pieces=3), "segment 0 to 1 in 3 pieces is none"),
        (Segment(begin=7, end=8, pieces=2), "segment 7 to 8: w2.update cannot be cut"),
    ):
        assert said in complaint(with_prices({**prices, wrong: {}}))
    for bits in (-1, 10**9):
        assert "bits must be from 0 to" in complaint(with_prices(prices, bits=bits))
    assert "nothing about the replay" in complaint(with_prices(prices, objective=REPLAY))
    assert any(
        "another objective" in each for each in complaints(with_prices({}, objective=MAKESPAN))
    )
    huge = {
        segment: {row: price * 2**300 for row, price in rows.items()}
        for segment, rows in prices.items()
    }
    assert "the prices prove a bound of" in complaint(with_prices(huge))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pieces": (1, 4)}, "the bound is over fewer covers than are called 'all'"),
        ({"most_products": 9}, "the bound is over fewer covers than are called 'all'"),
        ({"name": "most"}, "no covers are called 'most', over which the bound is to be"),
        ({"pieces": (1, 2, 4, 8), "bands": (1, 2)}, ""),
        ({"name": "fuse"}, ""),
    ],
)
def test_a_bound_over_fewer_covers_than_its_name_says(changes: dict[str, Any], said: str) -> None:
    """It may be higher, and nothing else in a file would say so."""
    family = replace(certificate().family, **changes)
    proof = replace(certificate(), family=family, prices={}, runs={})
    bound = cover_bound(pieces().listing, proof)
    found = complaints(replace(with_pieces(certificate=proof), cover_bound=bound))
    assert found == ([f"claim: {said}"] if said else [])


def test_a_bound_above_the_schedule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    value = RESULT.value
    assert value is not None
    monkeypatch.setattr("spmopt.audit.claims.cover_bound", lambda *_: value + 1)
    found = complaint(replace(RESULT, cover_bound=value + 1))
    assert (
        found == f"claim: the bound over all covers, {value + 1}, is above the schedule's {value}"
    )


def test_the_status_follows_the_gap_over_all_covers() -> None:
    assert "optimal is not true: the gap is" in complaint(replace(RESULT, status=Status.OPTIMAL))
    slow = of_graph(mlp(), 4, machine=replace(MACHINE, operations_per_s=10**6))
    assert slow.result.status is Status.OPTIMAL
    assert audit(slow.instance, slow.result).violations == ()
    bare = replace(
        slow.result, cover_bound=None, pieces=replace(pieces(slow.result), certificate=None)
    )
    assert "optimal without both" in complaint(bare, slow.instance)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("compute_cycles", 10**4, "compute_cycles is 10000, but 1 by graph and cover"),
        ("macs", 1, "macs is 1, but 128 by graph and cover"),
        ("scratch_bytes", 64, "scratch_bytes is 64, but 112 by graph and cover"),
    ],
)
def test_a_wrong_mode_is_named(field: str, value: int, said: str) -> None:
    wrong = INSTANCE.operations[14]  # the third of the four pieces of the first operation
    change: dict[str, Any] = {field: value}
    mode = replace(wrong.modes[0], **change)
    found = complaints(RESULT, changed(14, modes=(mode,)))
    assert f"claim: operation {wrong.name}: {said}" in found


def changed(at: int, **changes: Any) -> Instance:
    operations = list(INSTANCE.operations)
    operations[at] = replace(operations[at], **changes)
    return replace(INSTANCE, operations=tuple(operations))


def test_other_instances_than_that_of_the_cover() -> None:
    tensors = list(INSTANCE.tensors)
    tensors[0] = replace(tensors[0], size_bytes=64)
    wrong = replace(INSTANCE, tensors=tuple(tensors))
    assert "claim: tensor x[0]: size_bytes is 64, but 32 by graph and cover" in complaints(
        RESULT, wrong
    )
    reads = INSTANCE.operations[14].reads
    found = complaints(RESULT, changed(14, reads=(0, *reads[1:])))
    assert any("y1[2]: reads is ['x[0]', 'w1', 'b1'], but ['x[2]'," in each for each in found)
    shorter = replace(INSTANCE, operations=INSTANCE.operations[:-1])
    assert any(
        "has 39 operations, but that of the cover 40" in each
        for each in complaints(RESULT, shorter)
    )
    other = replace(INSTANCE, lowering="ideal")
    assert "claim: the instance has another lowering than the listing" in complaints(RESULT, other)


def test_what_pieces_compute_is_checked_by_their_names_and_the_graph() -> None:
    """Beside what the listing's own instance says."""
    reads = INSTANCE.operations[14].reads
    found = complaints(RESULT, changed(14, reads=(0, *reads[1:])))
    assert "pieces: y1[2]: reads index 4 of axis 0 of x, but names x[0] only" in found
    again = complaints(RESULT, changed(14, name="y1[1]"))
    assert "pieces: y1: m 2 to 4 is computed 2 times, by y1[1], y1[1]" in again
    unknown = complaints(RESULT, changed(14, name="y1[4]"))
    assert "claim: operation y1[4]: is no piece of a node by its name" in unknown
    (at,) = (at for at, each in enumerate(INSTANCE.operations) if each.name == "y2.d1[2]")
    adds = INSTANCE.operations[at]
    blind = tuple(t for t in adds.reads if t not in adds.writes)
    found = complaints(RESULT, changed(at, reads=blind, modes=INSTANCE.operations[at - 14].modes))
    assert any("writes w2.gradient anew, which another piece has" in each for each in found)
    tensors = (replace(INSTANCE.tensors[0], name="z"), *INSTANCE.tensors[1:])
    found = complaints(RESULT, replace(INSTANCE, tensors=tensors))
    assert "claim: tensor z: is no part of a value by its name" in found


def test_another_cover_or_graph_is_seen() -> None:
    listing = pieces().listing
    coarse = with_pieces(cover=listing.uniform(2))
    assert any("has 40 operations, but that of the cover 22" in each for each in complaints(coarse))
    graph = training_graph(mlp(), optimizer="adam")
    assert any(
        "by graph" in each or "that of the cover" in each
        for each in complaints(with_pieces(listing=replace(listing, graph=graph)))
    )
    none = with_pieces(cover=(Segment(begin=0, end=3),))
    assert "segments must follow each other from 0 to 13" in complaint(none)
    alone = with_pieces(listing=replace(listing, graph=None))
    assert complaints(alone) == []


def found_of(result: Result) -> tuple[list[str], Audit]:
    found = audit(INSTANCE, result)
    return verification_lines(INSTANCE, result, found), found


def test_it_is_said_what_holds() -> None:
    lines, found = found_of(RESULT)
    text = "\n".join(lines)
    assert (
        "13 operations, 6 groups, up to 4 micro-batches; expands to the file's 40 operations"
        in text
    )
    assert "at least over all covers, recomputed from the duals" in text
    assert "% over all covers; for this cover +" in text
    record: Any = verification_record(INSTANCE, RESULT, found)
    assert record["cover_bound"] == float(RESULT.cover_bound or 0)
    assert record["cover_gap"] == RESULT.cover_gap
    assert record["cover"][0] == {"begin": 0, "end": 7, "pieces": 4, "bands": 1}
    fused = replace(certificate(), family=replace(certificate().family, name="fuse"))
    few = "\n".join(found_of(with_pieces(certificate=fused))[0])
    assert "at least over all covers of pieces=fuse, recomputed from the duals" in few
    whole = replace(RESULT, pieces=None, cover_bound=None)
    assert "cover" not in "".join(found_of(whole)[0])
    assert "cover" not in verification_record(INSTANCE, whole, found_of(whole)[1])
