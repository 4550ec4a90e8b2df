"""Reuse intervals, and the bytes kept throughout: by hand, and against loops over steps."""

import numpy as np

from spmopt.analysis import Analysis
from tests.analysis.small import kept, streamed, training_step
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_schedule


def intervals(analysis: Analysis) -> dict[tuple[str, int], int]:
    """Captured bytes by tensor and step of the first use."""
    line, found = analysis.steps.view.timeline, analysis.reuse
    return {
        (analysis.problem.tensors[int(line.tensor[a])].name, int(line.step[a])): captured
        for a, captured in zip(found.access.tolist(), found.captured_bytes.tolist(), strict=True)
    }


def test_intervals_of_a_training_step() -> None:
    uses = [("x", 0), ("x", 2), ("w", 0), ("y1", 0), ("y2", 1), ("y2", 2), ("y3", 2)]
    uses += [("g3", 3), ("g1", 4), ("g1", 5)]
    assert intervals(streamed(training_step())) == dict.fromkeys(uses, 0)
    everything = {use: 4 if use[0] == "w" else 8 for use in uses}
    assert intervals(kept(training_step(spm=64))) == everything


def test_what_is_overwritten_or_dead_is_no_reuse() -> None:
    problem = tiny(
        {"a": (4, "in"), "b": (4, "keep")},
        [Op(reads="a", writes="b"), Op(writes="a"), Op(reads="a", writes="b")],
        spm=16,
    )
    assert set(intervals(streamed(problem))) == {("a", 1)}


def test_captured_is_the_least_resident_from_use_to_use() -> None:
    partial = 0
    for seed in range(100):
        problem, schedule = random_schedule(seed, max_operations=10, max_tensors=5)
        analysis = Analysis.of(problem, schedule)
        view, line, found = analysis.steps.view, analysis.steps.view.timeline, analysis.reuse
        for a, captured in zip(found.access, found.captured_bytes, strict=True):
            steps = np.arange(line.step[a], line.step[line.next[a]] + 1)
            least = view.resident(np.full_like(steps, line.tensor[a]), steps).min()
            assert captured == least
            partial += 0 < least < line.size_bytes[line.tensor[a]]
    assert partial > 50
