"""Bounds over the fusion space at dual values of what is carried across boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations.fusion.tileable import Listed
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan, TileableOperation, TileMappings
from spmopt.core.fusion.fusion_space import Way
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import objective_named
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Tensor
from spmopt.core.table import Ints
from spmopt.verifier.boundary_credit import BoundaryCredit
from spmopt.verifier.carried import READ, Carried
from spmopt.verifier.fusion_bound import FusionPlanPath, fusion_bound
from tests.formulations.fusion.random_tileable_graph import (
    OBJECTIVES,
    fusion_plans,
    random_tileable_graph,
)
from tests.formulations.fusion.test_carried import BITS, Duals, priced
from tests.formulations.fusion.test_fused_groups import fused_groups, relaxed
from tests.thorough import some

STYLES = ((-0.5, 2.0), (0.0, 1.0), (0.8, 1.0), (0.0, 0.3))
"""Of dual values, in those of moving a byte."""

Known = dict[FusionPlan, float]


def certificates(
    listed: TileableGraph, seed: int, *, fused_groups_too: bool
) -> Iterator[tuple[FusionCertificate, Known]]:
    """Yield certificates at random dual values, and what fusion plans cost."""
    random = np.random.default_rng(seed)
    objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
    figures = Listed(listed, objective)
    values = {
        fusion_plan: relaxed(listed, fusion_plan, objective) for fusion_plan in fusion_plans(listed)
    }
    known = {fusion_plan: value[1] for fusion_plan, value in values.items() if value is not None}
    byte = figures.dearest_row * listed.machine.clock_hz * 2**BITS
    for style, (low, high) in enumerate(STYLES if known else ()):
        carried: Duals = {
            (boundary, group): (
                round(byte * random.uniform(low, high)),
                round(byte * random.uniform(low, high)) if group >= 0 else 0,
            )
            for boundary, crossed in enumerate(figures.crossing)
            for group in crossed
        }
        fine, duals = bool(random.random() < 0.5), dict[FusedGroup, dict[Row, int]]()
        taken = fused_groups(listed) if carried and fused_groups_too and style % 2 else []
        for fused_group in taken:
            value, rows = priced(figures, fused_group, carried, fine=fine)
            if np.isfinite(value):
                duals[fused_group] = rows
        yield (
            FusionCertificate(
                fusion_space=figures.fusion_space,
                objective=objective,
                bits=BITS,
                duals={},
                carried=carried,
                agreed=duals,
                fine=fine,
            ),
            known,
        )


def totals_of(
    listed: TileableGraph, certificate: FusionCertificate, chosen: Sequence[FusionPlan]
) -> list[float]:
    """Return what the fused groups of fusion plans cost at least by a certificate, in all."""
    path = FusionPlanPath(listed, certificate)
    tables = path.tables()
    totals = [
        sum(
            int(tables[path.ways.index(Way(each.axis, each.count))][each.end, each.begin])
            for each in single_out(fusion_plan)
        )
        for fusion_plan in chosen
    ]
    return [float(Fraction(total) / Fraction(2) ** path.bits) for total in totals]


def single_out(fusion_plan: FusionPlan) -> FusionPlan:
    """Return a fusion plan with the operations of untiled groups in groups of their own."""
    return tuple(
        replace(each, begin=at, end=at + 1) if each.count == 1 else each
        for each in fusion_plan
        for at in (range(each.begin, each.end) if each.count == 1 else (each.begin,))
    )


def above(seeds: Sequence[int], *, fused_groups_too: bool = True) -> tuple[int, int, int]:
    """Return how many sums over fusion plans there are, how many tell something.

    And those too high.
    """
    found, near, wrong = 0, 0, 0
    for seed in seeds:
        listed = random_tileable_graph(seed, most=3)
        for certificate, known in certificates(listed, seed, fused_groups_too=fused_groups_too):
            least = float(FusionPlanPath(listed, certificate).value())
            proved = float(fusion_bound(listed, certificate))
            totals = totals_of(listed, certificate, list(known))
            for bound, value in zip(totals, known.values(), strict=True):
                assert least <= bound + 1e-9 * abs(bound) + 1e-12
                found += 1
                near += bound > 0.5 * value
                wrong += max(bound, proved) > value * (1 + 1e-6) + 1e-12
    return found, near, wrong


def test_no_fusion_plan_costs_less_than_the_bound_at_any_duals() -> None:
    """Time, traffic and energy, on one channel and on two."""
    seeds = some(range(600, 620))
    found, near, wrong = above(seeds)
    assert not wrong
    assert found > 20 * len(seeds)
    assert near > 5 * len(seeds)


@pytest.mark.parametrize("fault", ["unpaid", "one full end"])
def test_faults_of_what_fused_groups_may_earn_are_noticed(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = BoundaryCredit.full

    def one_full_end(self: BoundaryCredit, into: Fraction, out: Fraction) -> Ints:
        found: Ints = full(self, into, out)
        return found - found[:, :1]

    def unpaid(self: BoundaryCredit, into: Fraction, out: Fraction) -> Ints:
        return np.zeros_like(full(self, into, out))

    monkeypatch.setattr(BoundaryCredit, "full", unpaid if fault == "unpaid" else one_full_end)
    assert any(above([seed], fused_groups_too=False)[2] for seed in some([612, *range(600, 612)]))


def reading_a_weight(times: int) -> TileableGraph:
    """Return operations that each read the same 4 bytes, which are in DRAM."""
    operations = []
    for at in range(times):
        operation = TileableOperation(
            name=f"o{at}", reads=(0,), writes=(), cut=frozenset(), partial_sums=frozenset()
        )
        mapping = OpMapping(compute_cycles=0, operands=(Operand(),), macs=1)
        operation.mappings[1] = TileMappings(mapping, mapping)
        operations.append(operation)
    return replace(
        random_tileable_graph(600),
        tensors=(Tensor(name="w", size_bytes=4, in_dram=True, keep=False),),
        operations=tuple(operations),
    )


def test_bytes_dearer_on_chip_than_to_load_take_no_worth_from_a_full_scratchpad() -> None:
    """At 3 a byte at the first boundary none comes in, and 4 that are left earn 12."""
    listed = reading_a_weight(3)
    credit = BoundaryCredit(listed, Carried(listed, {(1, READ): (3, 0)}), (0, 0), 2)
    entering, leaving = np.array([0, 0, 4, 0]), np.array([0, 12, 0, 0])
    assert np.array_equal(credit.full(Fraction(1), Fraction(1)), entering[:, None] + leaving)


def test_a_result_without_dual_values_is_stored_by_a_fused_group_up_to_the_end() -> None:
    """Its 4 bytes are not by one that ends before, or by one that finds them on chip."""
    listed = reading_a_weight(3)
    write = TileableOperation(name="write", reads=(), writes=(0,))
    result = Tensor(name="w", size_bytes=4, in_dram=False, keep=True)
    idle = [replace(each, reads=()) for each in listed.operations[1:]]
    listed = replace(listed, tensors=(result,), operations=(write, *idle))
    paths = BoundaryCredit(listed, Carried(listed, {}), (0, 0), 2).paths(Fraction(1), Fraction(1))
    assert paths[:2, 2:].tolist() == [[0, 4], [0, 0]]


def test_a_weight_that_is_used_again_is_loaded_once() -> None:
    """At its full dual value at each boundary."""
    listed = reading_a_weight(3)
    objective = objective_named("traffic", listed.machine)
    whole = tuple(FusedGroup(begin=at, end=at + 1, micro_batches=1) for at in range(3))
    certificate = FusionCertificate(
        fusion_space=Listed(listed, objective).fusion_space,
        objective=objective,
        bits=20,
        duals={},
        carried={(boundary, READ): (2**20, 0) for boundary in (1, 2)},
    )
    assert relaxed(listed, whole, objective) == pytest.approx((4.0, 4.0))
    assert totals_of(listed, certificate, [whole]) == [4.0]


@pytest.mark.parametrize("fine", [False, True])
def test_what_is_found_newer_and_whole_to_each_piece_may_be_carried_on_so(*, fine: bool) -> None:
    """One operation writes ``w``, which stays; two tiles of the next read it, and the last does.

    Whatever a byte is worth that is newer, none is stored: 4 bytes of ``x`` come, and that is all.
    """
    operations = [
        TileableOperation(name="write", reads=(), writes=(1,)),
        TileableOperation(name="both", reads=(0, 1), writes=(), cut=frozenset({0})),
        TileableOperation(name="read", reads=(1,), writes=()),
    ]
    for operation in operations:
        streamed = (Operand(),) * len(operation.uses(0))
        mapping = OpMapping(compute_cycles=0, operands=streamed)
        operation.mappings.update(
            {k: TileMappings(mapping, mapping) for k in (1, 2)[: 1 + bool(operation.cut)]}
        )
    # Whole it does not fit.
    whole = replace(mapping, operands=(Operand(),) * 2, scratch_bytes=100)
    operations[1].mappings[1] = TileMappings(whole, whole)
    listed = replace(
        random_tileable_graph(600),
        tensors=(
            Tensor(name="x", size_bytes=4, in_dram=True, keep=False),
            Tensor(name="w", size_bytes=4, in_dram=False, keep=False),
        ),
        operations=tuple(operations),
        batch=2,
    )
    objective = objective_named("traffic", listed.machine)
    figures = Listed(listed, objective)
    carried = {(1, 1): (0, 2**BITS), (1, READ): (2**BITS, 0), (2, 1): (0, 0)}
    fusion_plan = tuple(
        FusedGroup(begin=at, end=at + 1, micro_batches=1 + at % 2) for at in range(3)
    )
    agreed = {each: priced(figures, each, carried, fine=fine)[1] for each in fusion_plan}
    certificate = FusionCertificate(
        fusion_space=figures.fusion_space,
        objective=objective,
        bits=BITS,
        duals={},
        carried=carried,
        agreed=agreed,
        fine=fine,
    )
    value = relaxed(listed, fusion_plan, objective)
    assert value == pytest.approx((4.0, 4.0))
    assert totals_of(listed, certificate, [fusion_plan]) == pytest.approx([4.0])
    assert fusion_bound(listed, certificate) <= 4


def example() -> tuple[TileableGraph, FusionCertificate]:
    """Return a tileable graph, and a certificate of it with duals of boundaries and of rows."""
    for seed in some(range(600, 700)):
        listed = random_tileable_graph(seed, most=3)
        for certificate, _ in certificates(listed, seed, fused_groups_too=True):
            if certificate.agreed and any(group >= 0 for _, group in certificate.carried):
                return listed, certificate
    raise AssertionError("no tileable graph has boundaries")


def test_tampered_duals_are_refused_or_prove_less() -> None:
    listed, certificate = example()
    bound, byte = fusion_bound(listed, certificate), 2**BITS
    boundary, group = next(iter(certificate.carried))
    for wrong, word in (
        ({(0, group): (1, 1)}, "boundary 0 has no dual value"),
        ({(len(listed.operations), group): (1, 1)}, "has no dual value"),
        ({(boundary, -2): (1, 1)}, "has no dual value"),
        ({(boundary, group): (10**6 * byte, 0)}, "too high a dual value"),
    ):
        with pytest.raises(InputError, match=word):
            fusion_bound(listed, replace(certificate, carried={**certificate.carried, **wrong}))
    # Rows at other dual values of boundaries are no proof of what they were at these.
    zero = dict.fromkeys(certificate.carried, (0, 0))
    assert fusion_bound(listed, replace(certificate, carried=zero)) != bound
    assert fusion_bound(listed, certificate) == bound
