"""What is claimed of fusion tiles is recomputed: problem, bound over the fusion space, status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from spmopt.audit import Audit, audit, restore
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import source_graph
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Request
from spmopt.core.solution import Solution
from spmopt.graph.build import GraphBuilder
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.io.files import decode_result, encode_result
from spmopt.reporting.verification import verification_lines, verification_record
from spmopt.solving import solve
from spmopt.verifier.fusion_bound import fusion_bound
from tests.checked import need
from tests.fused import MACHINE, of_graph, perceptron
from tests.graph.networks import convolution, mlp
from tests.uniform import uniform_plan

Duals = Mapping[FusedGroup, Mapping[Row, int]]
PROBLEM, RESULT = perceptron().problem, perceptron().result


def certificate(result: Result = RESULT) -> FusionCertificate:
    return need(result.fusion_certificate)


def with_fused(**changes: Any) -> Result:
    return replace(RESULT, fused=replace(PROBLEM, **changes))


def with_duals(duals: Duals, **changes: Any) -> Result:
    return replace(RESULT, fusion_certificate=replace(certificate(), duals=duals, **changes))


def complaints(result: Result, problem: Problem = PROBLEM) -> list[str]:
    return [str(each) for each in audit(problem, result).violations]


def complaint(result: Result, problem: Problem = PROBLEM) -> str:
    (found,) = complaints(result, problem)
    return found


def test_true_claims_stand() -> None:
    for stored in (perceptron(), of_graph(convolution(), 2, objective="energy")):
        for each in (stored, restore(decode_result(encode_result(stored)))):
            found = audit(each.problem, each.result)
            assert found.violations == ()
            assert found.fusion_bound == each.result.fusion_bound


@cache
def striped() -> Solution:
    """Two convolutions in stripes, and what is behind them as a whole."""
    b = GraphBuilder("rows")
    x = b.input("x", (2, 2, 8, 4))
    for k in range(2):
        w = b.weight(f"w{k}", (2, 2, 3, 3))
        x = b.add("Conv", [x, w], name=f"c{k}", pads=(1, 1, 1, 1))
    flat = b.add("Flatten", [x], name="flat")
    graph = b.finish([b.add("Gemm", [flat, b.weight("v", (64, 3))], name="y")])
    found = tileable(graph, MACHINE, mapper="tiled")
    fusion_plan = (
        FusedGroup(begin=0, end=2, micro_batches=2, stripes=2),
        FusedGroup(begin=2, end=3),
    )
    problem, _ = found.problem(fusion_plan)
    result = solve(problem, "residency", Request(threads=1))
    return Solution(problem=problem, result=replace(result, fused=problem, status=Status.FEASIBLE))


def test_results_in_stripes_are_stored_and_checked() -> None:
    stored = striped()
    document = encode_result(stored)
    assert document["fusion"]["fusion_plan"]["stripes"] == [2, 1]
    assert document["fusion"]["loops"][0]["rows"] == [[0, 4, 8], [0, 3, 8]]
    assert "rows" not in document["fusion"]["loops"][1]
    assert "stripes" not in encode_result(perceptron())["fusion"]["fusion_plan"]
    again = restore(decode_result(document))
    found = audit(again.problem, again.result)
    assert found.violations == ()
    text = "\n".join(verification_lines(again.problem, again.result, found))
    assert (
        "2 groups, up to 2 micro-batches of 2 stripes; expands to the file's 9 operations" in text
    )
    operations = list(stored.problem.operations)
    assert operations[7].name == "c1[1][3:8]"
    other = stored.problem.tensor_names.index("c0[0][2:4]")
    operations[7] = replace(operations[7], reads=(other, *operations[7].reads[1:]))
    wrong = complaints(stored.result, replace(stored.problem, operations=tuple(operations)))
    assert any("c1[1][3:8]: reads index 1 of axis 0, index 2 of axis 2 of c0" in w for w in wrong)
    document["fusion"]["fusion_plan"]["stripes"] = [9, 1]
    with pytest.raises(InputError, match="9 stripes: c0 has no rows to compute, or to take"):
        restore(decode_result(document))


def test_a_bound_without_stripes_says_nothing_of_a_fusion_plan_with_them() -> None:
    stored = striped()
    listed = source_graph(stored.problem)
    fusion_space = listed.fusion_space("batch")
    proof = FusionCertificate(fusion_space=fusion_space, objective=MAKESPAN, bits=10, duals={})
    bound = fusion_bound(listed, proof)
    claimed = replace(stored.result, fusion_certificate=proof, fusion_bound=bound)
    assert complaint(claimed, stored.problem) == (
        "claim: the bound is over other fusion plans than the schedule's: "
        "fused group 0 to 2: is in 2 stripes"
    )


def test_a_bound_over_the_fusion_space_is_what_the_duals_prove() -> None:
    bound = need(RESULT.fusion_bound)
    higher = replace(RESULT, fusion_bound=bound + 1)
    assert f"prove a bound of {bound} over the fusion space, but {bound + 1} is" in complaint(
        higher
    )
    # Files of older versions may claim less than their dual values prove today.
    assert not complaints(replace(RESULT, fusion_bound=bound - 1))
    assert "over the fusion space, but none is claimed" in complaint(
        replace(RESULT, fusion_bound=None)
    )
    assert "over the fusion space is claimed, but there are no dual values" in complaint(
        replace(RESULT, fusion_certificate=None)
    )
    assert "over the fusion space is claimed, but there is no fusion plan" in complaint(
        replace(RESULT, fused=None)
    )
    assert "the dual values prove a bound of" in complaint(with_duals({}))
    assert not complaints(replace(replace(RESULT, fusion_certificate=None), fusion_bound=None))


def test_duals_that_prove_nothing() -> None:
    duals = dict(certificate().duals)
    fused_group = next(iter(duals))
    strange: Duals = {**duals, fused_group: {("grows", 99, 99): 1}}
    assert "no row is called ('grows', 99, 99)" in complaint(with_duals(strange))
    for wrong, said in (
        (FusedGroup(begin=0, end=99), "fused group 0 to 99 in 1 fusion tiles is none"),
        (
            FusedGroup(begin=0, end=1, micro_batches=3),
            "fused group 0 to 1 in 3 fusion tiles is none",
        ),
        (
            FusedGroup(begin=7, end=8, micro_batches=2),
            "fused group 7 to 8: w2.update cannot be cut",
        ),
    ):
        assert said in complaint(with_duals({**duals, wrong: {}}))
    for bits in (-1, 10**9):
        assert "bits must be from 0 to" in complaint(with_duals(duals, bits=bits))
    assert "nothing about the replay" in complaint(with_duals(duals, objective=REPLAY))
    assert any(
        "another objective" in each for each in complaints(with_duals({}, objective=MAKESPAN))
    )
    huge = {
        fused_group: {row: dual * 2**300 for row, dual in rows.items()}
        for fused_group, rows in duals.items()
    }
    assert "the dual values prove a bound of" in complaint(with_duals(huge))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"micro_batches": (1, 4)}, "the bound is over fewer fusion plans than are called 'all'"),
        ({"most_products": 9}, "the bound is over fewer fusion plans than are called 'all'"),
        ({"name": "most"}, "no fusion plans are called 'most', over which the bound is to be"),
        ({"micro_batches": (1, 2, 4, 8), "stripes": (1, 2)}, ""),
        ({"name": "single-product"}, ""),
    ],
)
def test_a_bound_over_fewer_covers_than_its_name_says(changes: dict[str, Any], said: str) -> None:
    """It may be higher, and nothing else in a file would say so."""
    fusion_space = replace(certificate().fusion_space, **changes)
    proof = replace(certificate(), fusion_space=fusion_space, duals={}, runs={})
    bound = fusion_bound(source_graph(PROBLEM), proof)
    found = complaints(replace(replace(RESULT, fusion_certificate=proof), fusion_bound=bound))
    assert found == ([f"claim: {said}"] if said else [])


def test_a_bound_above_the_schedule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    value = need(RESULT.value)
    monkeypatch.setattr("spmopt.audit.claims.fusion_bound", lambda *_: value + 1)
    found = complaint(replace(RESULT, fusion_bound=value + 1))
    assert (
        found
        == f"claim: the bound over the fusion space, {value + 1}, is above the schedule's {value}"
    )


def test_the_status_follows_the_gap_over_the_fusion_space() -> None:
    assert "optimal is not true: the gap is" in complaint(replace(RESULT, status=Status.OPTIMAL))
    slow = of_graph(mlp(), 4, machine=replace(MACHINE, operations_per_s=10**6))
    assert slow.result.status is Status.OPTIMAL
    assert audit(slow.problem, slow.result).violations == ()
    bare = replace(slow.result, fusion_bound=None, fusion_certificate=None)
    assert "optimal without both" in complaint(bare, slow.problem)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("compute_cycles", 10**4, "is 10000, but 1 by graph and fusion plan"),
        ("macs", 1, "is 1, but 128 by graph and fusion plan"),
        ("scratch_bytes", 64, "is 64, but 112 by graph and fusion plan"),
    ],
)
def test_a_wrong_mapping_is_named(field: str, value: int, said: str) -> None:
    wrong = PROBLEM.operations[14]  # the third of the four fusion tiles of the first operation
    change: dict[str, Any] = {field: value}
    first, *others = wrong.mappings
    assert others
    found = complaints(RESULT, changed(14, mappings=(replace(first, **change), *others)))
    assert f"claim: operation {wrong.name}: {field} of mapping 0 {said}" in found
    found = complaints(RESULT, changed(14, mappings=(first,)))
    count = len(wrong.mappings)
    said = f"number of mappings is 1, but {count} by graph and fusion plan"
    assert f"claim: operation {wrong.name}: {said}" in found


def changed(at: int, **changes: Any) -> Problem:
    operations = list(PROBLEM.operations)
    operations[at] = replace(operations[at], **changes)
    return replace(PROBLEM, operations=tuple(operations))


def test_other_problems_than_that_of_the_fusion_plan() -> None:
    tensors = list(PROBLEM.tensors)
    tensors[0] = replace(tensors[0], size_bytes=64)
    wrong = replace(PROBLEM, tensors=tuple(tensors))
    assert "claim: tensor x[0]: size_bytes is 64, but 32 by graph and fusion plan" in complaints(
        RESULT, wrong
    )
    reads = PROBLEM.operations[14].reads
    found = complaints(RESULT, changed(14, reads=(0, *reads[1:])))
    assert any("y1[2]: reads is ['x[0]', 'w1', 'b1'], but ['x[2]'," in each for each in found)
    shorter = replace(PROBLEM, operations=PROBLEM.operations[:-1])
    assert any(
        "has 39 operations, but that of the fusion plan 40" in each
        for each in complaints(RESULT, shorter)
    )
    other = replace(PROBLEM, mapper="ideal")
    assert "claim: the problem has another mapper than the tileable graph" in complaints(
        RESULT, other
    )


def test_what_pieces_compute_is_checked_by_their_names_and_the_graph() -> None:
    """Beside what the tileable graph's own problem says."""
    reads = PROBLEM.operations[14].reads
    found = complaints(RESULT, changed(14, reads=(0, *reads[1:])))
    assert "fusion: y1[2]: reads index 4 of axis 0 of x, but names x[0] only" in found
    again = complaints(RESULT, changed(14, name="y1[1]"))
    assert "fusion: y1: m 2 to 4 is computed 2 times, by y1[1], y1[1]" in again
    unknown = complaints(RESULT, changed(14, name="y1[4]"))
    assert "claim: operation y1[4]: is no fusion tile of a node by its name" in unknown
    (at,) = (at for at, each in enumerate(PROBLEM.operations) if each.name == "y2.d1[2]")
    adds = PROBLEM.operations[at]
    blind = tuple(t for t in adds.reads if t not in adds.writes)
    found = complaints(
        RESULT, changed(at, reads=blind, mappings=PROBLEM.operations[at - 14].mappings)
    )
    assert any("writes w2.gradient anew, which another fusion tile has" in each for each in found)
    tensors = (replace(PROBLEM.tensors[0], name="z"), *PROBLEM.tensors[1:])
    found = complaints(RESULT, replace(PROBLEM, tensors=tensors))
    assert "claim: tensor z: is no part of a value by its name" in found


def test_another_fusion_plan_or_graph_is_seen() -> None:
    tileable = source_graph(PROBLEM)
    coarse = with_fused(fusion_plan=uniform_plan(tileable, 2))
    assert any(
        "has 40 operations, but that of the fusion plan 22" in each for each in complaints(coarse)
    )
    graph = training_graph(mlp(), optimizer="adam")
    assert any(
        "by graph" in each or "that of the fusion plan" in each
        for each in complaints(with_fused(fused_from=replace(tileable, graph=graph)))
    )
    none = with_fused(fusion_plan=(FusedGroup(begin=0, end=3),))
    assert "fused groups: loss and all later operations are in none" in complaint(none)
    alone = with_fused(fused_from=replace(tileable, graph=None))
    assert complaints(alone) == []


def found_of(result: Result) -> tuple[list[str], Audit]:
    found = audit(PROBLEM, result)
    return verification_lines(PROBLEM, result, found), found


def test_it_is_said_what_holds() -> None:
    lines, found = found_of(RESULT)
    text = "\n".join(lines)
    assert (
        "13 operations, 6 groups, up to 4 micro-batches; expands to the file's 40 operations"
        in text
    )
    assert "at least over the fusion space, recomputed from the duals" in text
    assert "% over the fusion space; for this fusion plan " in text
    record: Any = verification_record(PROBLEM, RESULT, found)
    assert record["fusion_bound"] == float(RESULT.fusion_bound or 0)
    assert record["fusion_gap"] == RESULT.fusion_gap
    assert record["fusion_plan"][0] == {
        **{"begin": 0, "end": 7, "micro_batches": 4, "stripes": 1},
        "axis": 0,
    }
    fused = replace(
        certificate(), fusion_space=replace(certificate().fusion_space, name="single-product")
    )
    few = "\n".join(found_of(replace(RESULT, fusion_certificate=fused))[0])
    assert (
        "at least over the fusion space of fusion=single-product, recomputed from the duals" in few
    )
    whole = replace(RESULT, fused=None, fusion_bound=None)
    assert "fusion_plan" not in "".join(found_of(whole)[0])
    assert "fusion_plan" not in verification_record(PROBLEM, whole, found_of(whole)[1])
