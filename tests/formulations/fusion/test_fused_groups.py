"""Values of groups: never above what a fusion plan costs.

And the program of the list as a whole.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from formulations.fusion.fused_group import FusedGroupProgram
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.rows import in_integers
from formulations.fusion.tileable import Listed
from formulations.residency.bound.dual import DualFunction
from formulations.residency.bound.duals import CostCoefficients, MoveDuals, Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import candidates
from formulations.residency.program.master import Master
from formulations.solver.highs import solve
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan, TileableOperation, TileMappings
from spmopt.core.fusion.fusion_space import FUSION_SPACES, FusionSpace
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.machine import Machine
from spmopt.core.mappings import in_mappings
from spmopt.core.objective import MAKESPAN, Objective, objective_named
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Tensor
from spmopt.core.timeline import fitting_timeline
from spmopt.graph.build import GraphBuilder
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.verifier.fused_group_bound import fused_group_bound
from spmopt.verifier.fused_group_uses import Liveness
from spmopt.verifier.fusion_bound import FusionPlanPath, fusion_bound
from spmopt.verifier.tile_paths import TilePaths
from tests.brute_force import optimum
from tests.checked import need
from tests.formulations.fusion.random_tileable_graph import (
    OBJECTIVES,
    drawn,
    fits,
    fusion_plans,
    random_tileable_graph,
)
from tests.graph.networks import attention, convolution, lstm, mlp, residual
from tests.thorough import share, some


def relaxed(
    listed: TileableGraph, fusion_plan: FusionPlan, objective: Objective
) -> tuple[float, float] | None:
    """Bound and value of the relaxation of a fusion plan, bytes in parts; None where nothing fits.

    All columns in one program: what little there is takes an eighth of the time of a search.
    Of several mappings each operation runs in one at random.
    """
    problem, _ = listed.problem(fusion_plan)
    if problem.several_mappings:
        random = np.random.default_rng(len(problem.operations))
        counts = np.diff(problem.operands.first_mapping)
        problem = in_mappings(problem, random.integers(0, counts))
    try:
        line = fitting_timeline(problem)
    except InfeasibleError:
        return None
    intervals, figures = RankedIntervals(line), CostCoefficients(problem, line, objective)
    free = MoveDuals(figures, Multipliers.zero(figures))
    every = candidates(intervals, free, intervals.steps, lambda _, at: np.full(at.size, np.inf))
    built = Master(intervals, figures, every, page_bytes=1)
    answer = solve(built.program, brief=True)
    value = built.value(need(answer.objective))
    bound = DualFunction(intervals, figures, built.multipliers(answer)).value
    assert bound == pytest.approx(value, rel=1e-7, abs=1e-15)
    return bound, value


def same_tables(listed: TileableGraph, figures: Listed) -> FusionPlanPath:
    """Compare cheap values with those of the verifier, which has them in integers."""
    none = FusionCertificate(
        fusion_space=figures.fusion_space, objective=figures.asked, bits=0, duals={}
    )
    path = FusionPlanPath(listed, none)
    arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
    exact = np.stack(path.tables(), axis=1)[:, :, : figures.count] / 2.0**path.bits
    mine = arcs.value[:, :, : figures.count]
    some_arcs = np.isfinite(mine)
    np.testing.assert_allclose(exact[some_arcs], mine[some_arcs], rtol=1e-9)
    return path


@pytest.mark.parametrize("make", [mlp, convolution, residual, attention, lstm])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", some(OBJECTIVES, 3))
def test_one_whole_segment_from_nothing_to_nothing_is_the_relaxation(
    make: object, training: bool, name: str
) -> None:
    assert callable(make)
    graph = training_graph(make(), optimizer="adam") if training else make()
    machine = load_machine("rtx2080ti", {"spm": "16KB"})
    listed = tileable(graph, machine, mapper="tiled")
    objective = objective_named(name, machine)
    whole = FusedGroup(begin=0, end=len(listed.operations))
    value = FusedGroupProgram(Listed(listed, objective), whole, 0.0).solve().value
    found = need(relaxed(listed, (whole,), objective))
    assert found[0] * (1 - 1e-6) <= value <= found[1] * (1 + 1e-6)


@pytest.mark.parametrize("compression", [False, True])
def test_no_fusion_plan_costs_less_than_the_values_of_its_fused_groups(compression: bool) -> None:
    """Every legal schedule is a solution of the programs of its fused groups."""
    compared = tight = 0
    for seed in some(range(40), 10):
        listed, objective, figures = drawn(seed, mappings=1 + seed % 2 * 2, compression=compression)
        for fusion_plan in islice(fusion_plans(listed), 0, 60, 1 + seed % 3):
            found = relaxed(listed, fusion_plan, objective)
            if found is None:
                continue
            value = found[1]
            least = sum(
                FusedGroupProgram(figures, fused_group, figures.capacity).solve().value
                for fused_group in fusion_plan
            )
            slack = 1e-6 * value + 1e-15
            assert least <= value + slack, (seed, fusion_plan)
            compared += 1
            tight += least > 0.8 * value
    assert compared > share(150)
    assert tight > compared / 4


@pytest.mark.parametrize("exponent", [-18, -9, 9, 18])
def test_duals_are_legal_whatever_a_byte_weighs_against_a_cycle(exponent: int) -> None:
    """As for two objectives in order, which are weighed against each other."""
    byte = Fraction(10) ** exponent / 7
    objective = Objective(
        name="both", unit="cycles", cycle=Fraction(1), dram_in_byte=byte, dram_out_byte=byte
    )
    for seed in some(range(200, 215)):
        listed = random_tileable_graph(seed, most=3)
        machine = replace(listed.machine, dram_bytes_per_s=7, clock_hz=3)
        listed = replace(listed, machine=machine)
        figures = Listed(listed, objective)
        arcs = FusedGroupArcs(figures, float(figures.capacity))
        found = arcs.cheapest(lambda: False)
        if np.isfinite(found.value):
            proved = fusion_bound(listed, arcs.certificate())
            assert float(proved) == pytest.approx(found.value, rel=1e-6)


def fused_groups(listed: TileableGraph) -> list[FusedGroup]:
    """All fused groups of a tileable graph that fit."""
    count = len(listed.operations)
    every = (
        FusedGroup(begin=begin, end=end, micro_batches=micro_batches)
        for begin in range(count)
        for end in range(begin + 1, count + 1)
        for micro_batches in (1, 2, 4)
    )
    return [
        fused_group
        for fused_group in every
        if not listed.obstacle(fused_group) and fits(listed, (fused_group,))
    ]


def test_cheap_values_are_of_all_fused_groups_and_never_above_programs() -> None:
    """Nor do they differ from those that the verifier counts."""
    compared, reread = 0, 0
    # In the last, fusion tiles read more anew than fits.
    for seed in (*some(range(60), 6), *some(range(70, 350), 10)):
        listed, objective, figures = drawn(seed, most=4 + 2 * (seed >= 70))
        if seed >= 70:
            machine = replace(listed.machine, spm_bytes=6 + seed % 8)
            listed = replace(listed, machine=machine)
            figures = Listed(listed, objective)
        arcs = FusedGroupArcs(figures, float(figures.capacity))
        every = fused_groups(listed)
        assert np.isfinite(arcs.value).sum() == len(every)
        same_tables(listed, figures)
        some_arcs = np.isfinite(arcs.value[:, :, : figures.count])
        again = arcs.cheap[0].count_bytes()[2][:, None, : figures.count]
        reread += int((some_arcs & (again > figures.capacity))[:, 1:].sum())
        for fused_group in every:
            value = FusedGroupProgram(figures, fused_group, figures.capacity).solve().value
            way = figures.micro_batches.index(fused_group.micro_batches)
            cheap = float(arcs.value[fused_group.end, way, fused_group.begin])
            assert cheap <= value * (1 + 1e-6) + 1e-15, (seed, fused_group)
            compared += cheap > 0.5 * value > 0
    assert compared > share(100)
    assert reread > share(60, 10)


@pytest.mark.parametrize("inner", [False, True])
def test_duals_prove_the_values_in_exact_integers(inner: bool) -> None:
    """Of each fused group, and of it as a run inside another.

    Programs add tiles up; the verifier knows their order, and may prove more.
    """
    compared = equal = 0
    for seed in some(range(30), 10):
        listed, objective, figures = drawn(seed, most=3, mappings=1 + seed % 2 * 2)
        live = Liveness(listed)
        for fused_group in fused_groups(listed):
            found = FusedGroupProgram(figures, fused_group, figures.capacity, inner=inner).solve()
            duals = in_integers(found.duals, 80, figures)
            exact = fused_group_bound(live, fused_group, objective, duals, 80, inner=inner)
            assert exact / 2**80 >= found.value * (1 - 1e-8) - 1e-18
            equal += exact / 2**80 <= found.value * (1 + 1e-8) + 1e-18
            compared += 1
    assert equal > 0.97 * compared


@pytest.mark.parametrize("fine", [False, True])
def test_any_payments_of_resident_bytes_prove_a_bound_over_mappings(fine: bool) -> None:
    """Those of the program prove most; without them figures of different mappings mix."""
    compared = raised = 0
    for seed in some(range(60), 8):
        listed, objective, figures = drawn(seed, most=3, mappings=3)
        live, random = Liveness(listed), np.random.default_rng(seed)
        for fusion_plan in islice(fusion_plans(listed), 0, 30, 2):
            best, any_, none = 0, 0, 0
            for each in fusion_plan:
                program = FusedGroupProgram(figures, each, figures.capacity, fine=fine)
                duals = in_integers(program.solve().duals, 80, figures)
                paid = [row for row in duals if row[0] == "resident in mappings"]
                most = max(map(abs, duals.values()), default=0)
                drawn_paid = {row: round(random.uniform(-1, 1) * most) for row in paid}
                best += fused_group_bound(live, each, objective, duals, 80, fine=fine)
                any_ += fused_group_bound(live, each, objective, duals | drawn_paid, 80, fine=fine)
                zero = duals | dict.fromkeys(paid, 0)
                none += fused_group_bound(live, each, objective, zero, 80, fine=fine)
            found = relaxed(listed, fusion_plan, objective)
            if found is not None:
                slack = 1e-6 * found[1] + 1e-12
                assert max(best, any_, none) / 2**80 <= found[1] + slack, (seed, fusion_plan)
                compared += 1
                raised += best > none
    assert compared > share(120, 8)
    assert raised > compared / 20


def test_operands_of_later_tiles_may_stand_elsewhere() -> None:
    """A sum that the first tile begins is read by the others, and so comes before results.

    Equal mappings of both are then of other operands: taken for the same they proved 76 of 62.
    """
    machine = Machine(
        name="two bytes",
        spm_bytes=2,
        page_bytes=1,
        dram_bytes_per_s=1,
        clock_hz=1,
        operations_per_s=1,
    )
    operation = TileableOperation(
        name="o", reads=(), writes=(0, 1), cut=frozenset({0}), partial_sums=frozenset({1})
    )
    assert (operation.uses(0), operation.uses(1)) == ((0, 1), (1, 0))

    def mapping(cycles: int, fetches: int) -> OpMapping:
        operands = Operand(fetches=fetches), Operand(fetches=1)
        return OpMapping(compute_cycles=cycles, operands=operands, scratch_bytes=2)

    one, two = (mapping(1000, 1),), (mapping(0, 5), mapping(1000, 5))
    operation.mappings.update({1: TileMappings.of(one, one), 2: TileMappings.of(two, two)})
    tensors = tuple(
        Tensor(name=name, size_bytes=size, in_dram=False, keep=True)
        for name, size in (("cut", 8), ("sum", 2))
    )
    listed = TileableGraph(
        name="g", machine=machine, tensors=tensors, operations=(operation,), batch=2, mapper="own"
    )
    arcs = FusedGroupArcs(Listed(listed, MAKESPAN), 2.0)
    arcs.cheapest(lambda: False)
    problem, _ = listed.problem((FusedGroup(begin=0, end=1, micro_batches=2),))
    best = need(optimum(problem, MAKESPAN)).value
    assert best == 62
    assert fusion_bound(listed, arcs.certificate()) <= best


def test_tiles_are_first_between_and_last() -> None:
    seen = set[int]()
    for seed in range(12):
        listed, _, _ = drawn(seed, most=3)
        for each in fused_groups(listed):
            tiles = TilePaths(Liveness(listed), each).tiles
            assert sum(tiles) == each.micro_batches
            assert (len(tiles), tiles[0], tiles[-1]) == (min(3, each.micro_batches), 1, 1)
            seen.add(len(tiles))
    assert seen >= {1, 2}


def bound_of(listed: TileableGraph, objective: Objective, fusion_space: FusionSpace) -> float:
    """Return the certified bound over the fusion space of a fusion space.

    Infinite where none fits.
    """
    arcs = FusedGroupArcs(
        Listed(listed, objective, fusion_space), float(Listed(listed, objective).capacity)
    )
    try:
        arcs.cheapest(lambda: False)
    except InfeasibleError:
        return np.inf
    return float(fusion_bound(listed, arcs.certificate()))


def test_the_bound_of_a_fusion_space_holds_for_its_fusion_plans_and_falls_as_it_grows() -> None:
    compared = 0
    for seed in some(range(300, 318)):
        listed, objective, _ = drawn(seed, most=3)
        values = {
            fusion_plan: relaxed(listed, fusion_plan, objective)
            for fusion_plan in fusion_plans(listed)
        }
        bounds = []
        for name in FUSION_SPACES:
            fusion_space = listed.fusion_space(name)
            bounds.append(bound_of(listed, objective, fusion_space))
            known = [v[1] for c, v in values.items() if v and not listed.outside(fusion_space, c)]
            if known and np.isfinite(bounds[-1]):
                assert bounds[-1] <= min(known) * (1 + 1e-6) + 1e-15, (seed, name)
                compared += 1
        least = dict(zip(FUSION_SPACES, bounds, strict=True))
        assert least["none"] >= least["single-product"] * (1 - 1e-9) >= least["all"] * (1 - 2e-9), (
            seed
        )
        assert least["none"] >= least["batch"] * (1 - 1e-9) >= least["all"] * (1 - 2e-9), seed
    assert compared > share(40)


def test_bounds_of_smaller_families_are_higher_where_fusing_pays() -> None:
    machine = load_machine("rtx2080ti", {"page": "16B", "spm": "256B", "bandwidth": "10GB/s"})
    listed = tileable(attention(), machine, mapper="panel")
    none, fuse, batch, every = (
        bound_of(listed, objective_named("traffic", machine), listed.fusion_space(name))
        for name in FUSION_SPACES
    )
    assert none > 1.1 * fuse
    assert fuse > 1.01 * batch
    assert batch > 1.05 * every  # along heads


def test_duals_of_fused_groups_outside_the_family_are_refused() -> None:
    listed = random_tileable_graph(300, most=3)
    objective = objective_named("time", listed.machine)
    outside = next(each for each in fused_groups(listed) if each.micro_batches > 1)
    certificate = FusionCertificate(
        fusion_space=listed.fusion_space("none"), objective=objective, bits=60, duals={outside: {}}
    )
    with pytest.raises(InputError, match=f"{outside.micro_batches} fusion tiles is none"):
        fusion_bound(listed, certificate)
    with pytest.raises(InputError, match="must ascend from 1"):
        FusionSpace(name="odd", micro_batches=(2, 4))
    with pytest.raises(InputError, match="no fusion plans are called 'some'"):
        listed.fusion_space("some")


def test_very_many_tiles_do_not_make_a_large_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column for each of 789,444 samples took minutes; without them the bound is no higher."""
    b = GraphBuilder("samples")
    x = b.input("x", (2**15, 16))
    for k in range(4):
        x = b.add("Relu", [x], name=f"relu{k}")
    listed = Listed(tileable(b.finish([x]), load_machine("large-npu", {"spm": "64KiB"})), MAKESPAN)
    group = FusedGroup(begin=1, end=3, micro_batches=2**15)
    few = FusedGroupProgram(listed, group, float(listed.capacity))
    assert few.program().cost.size < 100
    monkeypatch.setattr("formulations.fusion.boundaries._MOST_TILES", 2**15)
    every = FusedGroupProgram(listed, group, float(listed.capacity))
    assert every.program().cost.size > 2**15
    assert 0 < few.solve().value <= every.solve().value * (1 + 1e-9)
