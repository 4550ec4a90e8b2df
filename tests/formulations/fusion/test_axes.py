"""Groups along several axes: bounds against every fusion plan, and the search against the least."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice

import pytest

from formulations.fusion.agreement import Agreement
from formulations.fusion.fused_group import FusedGroupProgram
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup, TileableOperation, TileMappings
from spmopt.core.fusion.fusion_space import Way
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import Objective
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Tensor
from spmopt.verifier.fusion_bound import FusionPlanPath, fusion_bound
from tests.formulations.fusion.agreeing import raise_bound
from tests.formulations.fusion.random_tileable_graph import drawn, fusion_plans
from tests.formulations.fusion.test_agreement import after, against_all
from tests.formulations.fusion.test_fused_groups import relaxed, same_tables
from tests.thorough import share, some
from tests.tiny import plain_machine


def in_both(mapping: OpMapping) -> dict[int, TileMappings]:
    return dict.fromkeys((1, 2), TileMappings(mapping, mapping))


def test_no_fusion_plan_along_any_axis_costs_less_than_its_groups() -> None:
    compared = along = tight = 0
    for seed in some(range(2000, 2080), 10):
        listed, objective, figures = drawn(seed, axes=2 + seed % 2, mappings=1 + seed % 3 // 2 * 2)
        for fusion_plan in islice(fusion_plans(listed), 0, 80, 1 + seed % 5):
            found = relaxed(listed, fusion_plan, objective)
            if found is None:
                continue
            least = sum(
                FusedGroupProgram(figures.of(each), each, figures.capacity).solve().value
                for each in fusion_plan
            )
            assert least <= found[1] * (1 + 1e-6) + 1e-15, (seed, fusion_plan)
            compared += 1
            along += any(each.axis for each in fusion_plan)
            tight += least > 0.8 * found[1]
    assert compared > share(300, 10)
    assert along > compared / 4
    assert tight > compared / 10


def test_the_bound_over_all_axes_holds_and_duals_at_boundaries_raise_it() -> None:
    """Verified in exact integers, against every fusion plan; sums and duplex among them."""
    compared = raised = least_found = 0
    for seed in some(range(2100, 2172), 18):
        listed, objective, figures = drawn(seed, most=3, axes=2 + seed % 2)
        found = against_all(listed, objective, figures)
        if found is None:
            continue
        arcs, plain, known = found
        bound = float(fusion_bound(listed, arcs.certificate()))
        assert bound >= plain * (1 - 1e-6) - 1e-12, seed
        search = Agreement(arcs, fine=seed % 2 == 0)
        raise_bound(search, after(12))
        agreed = float(fusion_bound(listed, search.certificate()[0]))
        assert agreed >= max(search.best, figures.compulsory) * (1 - 1e-6) - 1e-12, seed
        for each in (bound, agreed):
            assert not known or each <= min(known) * (1 + 1e-6) + 1e-12, seed
        raised += agreed > bound * 1.001
        compared += bool(known)
        least_found += bool(known) and agreed > 0.99 * min(known)
    assert compared > share(36, 18)
    assert raised
    assert least_found


def test_exact_tables_are_those_of_programs_along_each_axis() -> None:
    for seed in some(range(2200, 2240)):
        listed, _, figures = drawn(seed, axes=3)
        path = same_tables(listed, figures)
        assert path.ways == figures.ways
        assert Way(2, 2) in path.ways or not any(
            len(each.mappings) > 1 for each in listed.others[1].operations
        )


def test_sums_have_no_dual_values_of_their_own() -> None:
    """A group that sums up a tensor along a further axis, at prices of that tensor at its end."""
    refused = 0
    for seed in range(2000, 2080):
        listed, objective, figures = drawn(seed, axes=2)
        for at, operation in enumerate(listed.others[0].operations[:-1]):
            group = FusedGroup(begin=at, end=at + 1, micro_batches=2, axis=1)
            summed = [t for t in operation.partial_sums if figures.groups[t] == t]
            if not summed or listed.obstacle(group):
                continue
            proof = FusionCertificate(
                fusion_space=listed.fusion_space(),
                objective=objective,
                bits=0,
                duals={},
                carried={(at + 1, summed[0]): (0, 0)},
                agreed={group: {}},
            )
            with pytest.raises(InputError, match="it sums up a tensor with dual values"):
                fusion_bound(listed, proof)
            refused += 1
    assert refused > 3


def test_an_axis_that_is_none_is_refused() -> None:
    listed, objective, figures = drawn(2000, axes=2)
    space = listed.fusion_space()
    assert len(space.others) == 1
    proof = FusionCertificate(fusion_space=space, objective=objective, bits=0, duals={})
    with pytest.raises(InputError, match="has 2 axes; none is number 5"):
        listed.obstacle(FusedGroup(begin=0, end=1, micro_batches=2, axis=5))
    alone = listed.others[0]
    with pytest.raises(InputError, match="the graph has no 1 further axes"):
        fusion_bound(alone, proof)
    assert figures.way(FusedGroup(begin=0, end=1, micro_batches=2, axis=1)) == len(figures.ways) - 1


def test_more_tiles_than_64_bits_hold_are_refused() -> None:
    listed, _, _ = drawn(2000, axes=2)
    for changes in ({"others": ((2, 10**30),)}, {"micro_batches": (1, 10**30)}):
        with pytest.raises(InputError, match="fusion tiles; give 4294967296 at most"):
            replace(listed.fusion_space(), **changes)


def test_groups_that_differ_in_an_operation_without_operands_are_not_taken_for_equal() -> None:
    """By what each of its operations costs, and not by their operands alone."""
    machine = plain_machine(8, page_bytes=1)
    one = OpMapping(compute_cycles=0, operands=(Operand(),))
    operations = list[TileableOperation]()
    for k, macs in enumerate((5, 50, 1, 5)):
        alone = OpMapping(compute_cycles=0, operands=(), macs=macs)
        twice = OpMapping(compute_cycles=0, operands=(), macs=2 * macs)
        cut = frozenset({k})
        operations += [
            TileableOperation(name=f"w{k}", reads=(), writes=(k,), cut=cut, mappings=in_both(one)),
            TileableOperation(
                name=f"z{k}",
                reads=(),
                writes=(),
                mappings={1: TileMappings(twice, twice), 2: TileMappings(alone, alone)},
            ),
            TileableOperation(name=f"r{k}", reads=(k,), writes=(), cut=cut, mappings=in_both(one)),
        ]
    tensors = tuple(
        Tensor(name=f"t{k}", size_bytes=16, in_dram=False, keep=False) for k in range(4)
    )
    graph = TileableGraph(
        name="z", machine=machine, tensors=tensors, operations=tuple(operations), batch=2, mapper=""
    )
    objective = Objective(
        name="own", unit="u", dram_in_byte=Fraction(1), dram_out_byte=Fraction(1), mac=Fraction(1)
    )
    plan = tuple(FusedGroup(begin=3 * k, end=3 * k + 3, micro_batches=2) for k in range(4))
    duals = {each: dict[Row, int]() for each in plan}
    certificate = FusionCertificate(
        fusion_space=graph.fusion_space("batch"), objective=objective, bits=0, duals=duals
    )
    path = FusionPlanPath(graph, certificate)
    values = [path._value(each, {}) / 2**path.bits for each in plan]
    assert values == [10, 100, 2, 10]
    empty = {FusedGroup(begin=1, end=2): dict[Row, int]()}
    with pytest.raises(InputError, match="none of its operations has operands"):
        fusion_bound(graph, replace(certificate, duals=empty))
