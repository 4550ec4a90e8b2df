"""Gaps, their scopes, what is captured: by hand, and against loops over steps."""

from dataclasses import replace

import numpy as np

from spmopt.analysis import Analysis, Scope
from spmopt.analysis.reuse import repeats
from spmopt.assemble import assemble
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from tests.analysis.small import kept, streamed, training_step
from tests.strategies import random_problem
from tests.thorough import some
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_schedule

INTRA, ADJACENT, BLOCK, WEIGHT, BOTH = Scope


def gaps(analysis: Analysis) -> dict[tuple[str, int], Scope]:
    """Scope by tensor and step of the first use."""
    line = analysis.steps.view.timeline
    return {
        (analysis.problem.tensors[int(line.tensor[a])].name, int(line.step[a])): Scope(
            int(analysis.reuse.scope[a])
        )
        for a in np.flatnonzero(analysis.reuse.scope >= 0)
    }


def test_scopes_of_a_training_step() -> None:
    assert gaps(streamed(training_step())) == {
        ("x", 0): BLOCK,
        ("x", 2): BOTH,
        ("w", 0): BOTH,
        ("y1", 0): ADJACENT,
        ("y2", 1): ADJACENT,
        ("y2", 2): BOTH,
        ("y3", 2): BOTH,
        ("g3", 3): ADJACENT,
        ("g1", 4): ADJACENT,
        ("g1", 5): INTRA,
    }


def test_recurrent_weights_are_those_of_one_kind_of_operation() -> None:
    problem = tiny(
        {"w": (4, "in"), "a": (4, ""), "b": (4, ""), "c": (4, "keep")},
        [
            Op(reads="w", writes="a"),
            Op(reads="a w", writes="b"),
            Op(reads="b w", writes="c"),
        ],
        spm=16,
    )
    assert gaps(streamed(_kinds(problem, "Cell", "Cell", "Cell"))) == {
        ("w", 0): WEIGHT,
        ("w", 1): WEIGHT,
        ("a", 0): ADJACENT,
        ("b", 1): ADJACENT,
    }
    # Without a kind, or of another kind, it is reuse like any other.
    assert gaps(streamed(problem))["w", 0] is ADJACENT
    assert gaps(streamed(_kinds(problem, "Cell", "Gather", "Cell")))["w", 1] is ADJACENT


def test_what_is_overwritten_or_dead_is_no_reuse() -> None:
    problem = tiny(
        {"a": (4, "in"), "b": (4, "keep")},
        [Op(reads="a", writes="b"), Op(writes="a"), Op(reads="a", writes="b")],
        spm=16,
    )
    assert gaps(streamed(problem)) == {("a", 1): ADJACENT}


def test_captured_bytes_of_a_training_step() -> None:
    nothing = [(0, 8), (0, 32), (0, 8), (0, 0), (0, 28)]
    everything = [(8, 8), (32, 32), (8, 8), (0, 0), (28, 28)]
    for analysis, expected in (
        (streamed(training_step()), nothing),
        (kept(training_step(spm=64)), everything),
    ):
        found = [(s.captured_bytes, s.reusable_bytes) for s in analysis.scopes()]
        assert found == expected
    assert [s.gaps for s in streamed(training_step()).scopes()] == [1, 4, 1, 0, 4]


def test_captured_is_the_least_resident_from_use_to_use() -> None:
    partial = 0
    for seed in range(300):
        problem, schedule = random_schedule(seed, max_operations=10, max_tensors=5)
        analysis = Analysis.of(problem, schedule)
        view, line = analysis.steps.view, analysis.steps.view.timeline
        for a in np.flatnonzero(analysis.reuse.scope >= 0):
            steps = np.arange(line.step[a], line.step[line.next[a]] + 1)
            least = view.resident(np.full_like(steps, line.tensor[a]), steps).min()
            assert analysis.reuse.captured_bytes[a] == least
            partial += 0 < least < line.size_bytes[line.tensor[a]]
    assert partial > 50


def test_policies_bring_in_exactly_what_is_not_captured() -> None:
    for seed in some(range(150)):
        problem = random_problem(
            seed, max_operations=12, max_tensors=6, max_mappings=2, duplex=seed % 2 == 0
        )
        assert streamed(problem).vain_bytes == 0
        assert kept(problem).vain_bytes == 0


def test_what_random_plans_load_in_vain_is_seen() -> None:
    found = [
        Analysis.of(*random_schedule(seed, max_operations=10, max_tensors=5)).vain_bytes
        for seed in range(200)
    ]
    assert min(found) == 0
    assert sum(vain > 0 for vain in found) > 20


def test_a_load_that_is_dropped_before_use_is_in_vain() -> None:
    problem = tiny({"a": (8, "in")}, [Op(), Op(), Op(reads="a")], spm=8)
    residency_plan = ResidencyPlan(
        steps=Steps.listed(np.zeros(3, np.int64)),
        residency=Residency(
            tensor=np.array([0]),
            begin=np.array([0]),
            end=np.array([1]),
            size_bytes=np.array([4]),
        ),
        stores=Stores.empty(),
    )
    analysis = Analysis.of(problem, assemble(problem, residency_plan))
    assert (analysis.steps.dram_in_bytes.tolist(), analysis.vain_bytes) == ([4, 0, 8], 4)


def test_repeats_of_each_kind_of_access() -> None:
    problem = tiny(
        {"a": (4, "in"), "b": (4, "keep"), "c": (4, "in keep"), "d": (4, ""), "e": (4, "in")},
        [
            Op(
                reads="a c e",
                writes="b c d",
                fetches=dict.fromkeys("abcde", 3),
                required_resident="e",
            )
        ],
        spm=16,
    )
    line = streamed(problem).steps.view.timeline
    by_name = {problem.tensors[t].name: k for k, t in enumerate(line.tensor.tolist())}
    times = repeats(line)
    assert {name: int(times[k]) for name, k in by_name.items()} == {
        "a": 2,  # read again twice
        "b": 4,  # partial sums, out and in again twice
        "c": 4,  # updated, each way
        "d": 0,  # dead: moved neither way
        "e": 0,  # required-resident
    }


def test_repeated_passes_are_intra_layer_reuse() -> None:
    problem = tiny(
        {"a": (8, "in"), "b": (4, "keep")}, [Op(reads="a", writes="b", fetches={"a": 3})], spm=4
    )
    intra, *others = streamed(problem).scopes()
    assert (intra.gaps, intra.reusable_bytes, intra.captured_bytes) == (0, 16, 0)
    assert intra.alone_bytes == 8
    assert not any(scope.reusable_bytes for scope in others)


def _kinds(problem: Problem, *kinds: str) -> Problem:
    """The first tensor a weight, and operations of these kinds."""
    first, *rest = problem.tensors
    return replace(
        problem,
        tensors=(replace(first, kind=TensorKind.WEIGHT), *rest),
        operations=tuple(
            replace(op, kind=kind) for op, kind in zip(problem.operations, kinds, strict=True)
        ),
    )
