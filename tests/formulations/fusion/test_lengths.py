"""Values of fused groups of long lists: of short ones as ever, of longer ones never above these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate, islice, product

import numpy as np
import pytest

from formulations.fusion.lengths import Beyond
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.shortest_paths import shortest_path
from formulations.fusion.tileable import Listed
from formulations.solver.program import Floats
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.fusion import certificate
from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.graph import Graph
from spmopt.core.objective import objective_named
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.verifier.fusion_bound import FusionPlanPath, fusion_bound
from tests.formulations.fusion.random_tileable_graph import (
    OBJECTIVES,
    drawn,
    fits,
    fusion_plans,
    random_tileable_graph,
)
from tests.formulations.fusion.test_fused_groups import relaxed
from tests.graph.networks import attention, mlp, residual
from tests.thorough import THOROUGH, share, some

Limit = Callable[[int], None]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Return what sets the operations of the longest fused groups that have places."""

    def limited(longest: int) -> None:
        def valued(count: int, *_: int) -> tuple[int, bool]:
            return min(longest, count), longest >= count

        for module in ("formulations.fusion.lengths", "spmopt.verifier.fusion_bound"):
            monkeypatch.setattr(f"{module}.longest_valued", valued)

    return limited


def every_value(arcs: FusedGroupArcs) -> Floats:
    """Return (n + 1, p, n + 1) values by end, number of tiles and begin, of long groups too."""
    lengths, beyond = arcs.lengths, arcs.beyond()
    count = lengths.count
    found: Floats = np.full((count + 1, len(arcs.listed.ways), count + 1), np.inf)
    for end, way, begin in product(*map(range, found.shape)):
        if not begin < end:
            continue
        if end - begin <= lengths.longest:
            found[end, way, begin] = arcs.value[end, way, begin - int(lengths.first[end])]
        elif beyond is not None and begin >= beyond.first[way, end]:
            found[end, way, begin] = beyond.upto[way, end] - beyond.before[way, begin]
    return found


def trained(graph: Graph, spm: str, objective: str) -> Listed:
    machine = load_machine("small-npu", {"spm": spm, "page": "64B"})
    listed = tileable(training_graph(graph), machine)
    return Listed(listed, objective_named(objective, machine))


def cases() -> Iterator[Listed]:
    for number, (make, spm) in enumerate(
        product((mlp, residual, attention), some(("2KB", "6KB"), 2))
    ):
        yield trained(make(), spm, OBJECTIVES[number % 3])
    for seed in some(range(30), 10):
        listed = random_tileable_graph(seed, most=6)
        yield Listed(listed, objective_named(OBJECTIVES[seed % 3], listed.machine))


def test_values_are_as_those_of_all_fused_groups_and_of_long_ones_not_above(limit: Limit) -> None:
    """Cheap ones, and those that runs raise."""
    short = long = above = 0
    for figures in cases():
        for longest in (2, 3, 5) if THOROUGH else (2, 5):
            if figures.count <= longest:
                continue
            limit(longest)
            arcs = FusedGroupArcs(figures, float(figures.capacity))
            limit(figures.count)
            whole = FusedGroupArcs(figures, float(figures.capacity))
            lengths = np.arange(figures.count + 1)[:, None] - np.arange(figures.count + 1)
            of_short = np.broadcast_to((lengths <= longest)[:, None], whole.value.shape)
            for solved in (False, True):
                if solved:
                    some = [
                        FusedGroup(begin=begin, end=begin + length, micro_batches=micro_batches)
                        for length in (2, 4)
                        if length <= longest
                        for begin in range(0, figures.count - length + 1, length // 2)
                        for micro_batches in figures.tileable.operations[begin].mappings
                    ]
                    some = [
                        each
                        for each in some
                        if figures.allows(each) and fits(figures.tileable, (each,))
                    ]
                    for each in (arcs, whole):
                        each.runs.solve(some)
                        each.raise_by_runs(figures.ways)
                mine, full = every_value(arcs), every_value(whole)
                assert np.array_equal(mine[of_short], full[of_short])
                # Long ones are differences of sums over the list.
                slack = 1e-12 * full[np.isfinite(full)].sum()
                assert (mine <= full + slack)[~of_short].all()
                # All that are none are none: no path is lost, and none is made up.
                assert np.array_equal(np.isfinite(mine), np.isfinite(full))
                finite = np.isfinite(full) & ~of_short
                short += int(np.count_nonzero(of_short & np.isfinite(full)))
                long += int(np.count_nonzero(finite))
                above += int(np.count_nonzero(mine[finite] > 0.8 * full[finite]))
    assert short > share(3_000, 2)
    assert long > share(5_000, 2)
    assert above > long / 4


def test_the_shortest_path_is_that_over_all_fused_groups() -> None:
    random, used = np.random.default_rng(3), 0
    for _ in range(200):
        count, ways = int(random.integers(2, 14)), int(random.integers(1, 4))
        longest = int(random.integers(1, count))
        table = random.uniform(0.0, 20.0, (count + 1, ways, longest))
        table[random.random(table.shape) < 0.2] = np.inf
        upto = np.cumsum(random.uniform(0.0, 9.0, (ways, count + 1)), axis=1)
        reach = np.maximum.accumulate(random.integers(0, count + 1, (ways, count)), axis=1)
        first = np.array([np.searchsorted(each, np.arange(count + 1)) for each in reach])
        beyond = Beyond(longest=longest, upto=upto, before=upto - 1.0, first=first)
        reached = [0.0]
        for end in range(1, count + 1):
            least = np.inf
            for begin, way in product(range(end), range(ways)):
                value = np.inf
                if end - begin <= longest:
                    value = table[end, way, begin - max(end - longest, 0)]
                elif reach[way, begin] >= end:
                    value = upto[way, end] - upto[way, begin] + 1.0
                least = min(least, reached[begin] + value)
            reached.append(least)
        found, fusion_plan = shortest_path(table, range(count + 1), _fused_group, beyond)
        assert found == pytest.approx(reached[-1])
        used += any(each.end - each.begin > longest for each in fusion_plan)
    assert used > 50


def _fused_group(begin: int, end: int, way: int) -> FusedGroup:
    return FusedGroup(begin=begin, end=end, micro_batches=2**way)


@pytest.mark.parametrize("longest", [2, 4, 8])
def test_a_long_fused_group_without_runs_costs_its_operations_by_the_verifier(
    limit: Limit, longest: int
) -> None:
    """Wherever it begins and ends: within blocks, and after the last one."""
    figures = trained(mlp(), "2KB", "time")
    limit(longest)
    proof = FusionCertificate(
        fusion_space=figures.fusion_space, objective=figures.objective, bits=60, duals={}
    )
    path = FusionPlanPath(figures.given, proof)
    path.tables()
    for way in range(len(path.ways)):
        ends, begins, _ = path._longer(way)
        assert ends == begins == [0, *accumulate(path._each(way))]


@pytest.mark.parametrize("longest", some([2, 3]))
def test_no_fusion_plan_is_below_the_bound_of_a_long_list(limit: Limit, longest: int) -> None:
    """Which is recomputed exactly, and not above that by all fused groups."""
    compared = 0
    for seed in range(400, 412):
        listed, objective, figures = drawn(seed)
        if figures.count <= longest:
            continue
        bounds = []
        try:
            for operations in (longest, figures.count):
                limit(operations)
                arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
                found = arcs.cheapest(lambda: False)
                bounds.append(float(fusion_bound(listed, arcs.certificate())))
                assert bounds[-1] == pytest.approx(found.value, rel=1e-6, abs=1e-15), seed
        except InfeasibleError:
            continue
        assert bounds[0] <= bounds[1] * (1 + 1e-9)
        few = islice(fusion_plans(listed), 0, 40, 1 + seed % 3)
        known = [relaxed(listed, fusion_plan, objective) for fusion_plan in few]
        values = [each[1] for each in known if each is not None]
        assert all(bounds[0] <= value * (1 + 1e-6) + 1e-12 for value in values), seed
        compared += len(values)
    assert compared > 50


def test_a_network_s_bound_by_short_fused_groups_is_near_that_by_all(limit: Limit) -> None:
    figures = trained(residual(), "2KB", "time")
    bounds = []
    for longest in (8, figures.count):
        limit(longest)
        arcs = FusedGroupArcs(figures, float(figures.capacity))
        arcs.cheapest(lambda: False)
        proof = arcs.certificate()
        assert all(each.end - each.begin <= longest for each in proof.duals)
        bounds.append(float(fusion_bound(figures.given, proof)))
    assert 0.8 * bounds[1] < bounds[0] <= bounds[1] * (1 + 1e-9)


def test_duals_that_a_long_list_has_not_are_refused(limit: Limit) -> None:
    figures = trained(mlp(), "2KB", "time")
    limit(4)
    proof = FusionCertificate(
        fusion_space=figures.fusion_space, objective=figures.objective, bits=60, duals={}
    )
    fusion_bound(figures.given, proof)
    long: dict[FusedGroup, dict[Row, int]] = {FusedGroup(begin=0, end=5): {("capacity", 0, 0): -1}}
    with pytest.raises(
        InputError, match=r"fused group 0 to 5: .* none of more than 4 has dual values"
    ):
        fusion_bound(figures.given, replace(proof, duals=long))
    group = next(iter(figures.crossing[1]))
    with pytest.raises(InputError, match="what a long list carries across has no dual values"):
        fusion_bound(figures.given, replace(proof, carried={(1, group): (1, 0)}))


def test_longest_fused_groups_of_lists() -> None:
    """All tiled ones of lists of 1,500 operations; of longer ones as many as tables hold."""
    of = certificate.longest_valued
    assert of(64, 8, 5) == (64, True)
    assert of(1_500, 8, 1_500) == (1_500, True)
    assert of(1_500, 8, 12) == (12, True)
    assert of(4_477, 2, 4_477) == (256, False)
    assert of(10_769, 8, 10_769) == (69, False)
    assert of(22_357, 8, 1_000) == (33, False)
    assert of(22_357, 8, 20) == (20, True)
    assert [certificate.block_length(each) for each in (1, 2, 3, 4, 31, 32, 670)] == [
        2, 2, 2, 4, 16, 32, 32,
    ]  # fmt: skip
