"""Sentences against the figures that they are about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.reporting.ablation import Decision, Key, sentences
from spmopt.reporting.quantities import si
from tests.ablations import in_full, told


def test_there_are_three_to_six() -> None:
    for ablation in (told(), in_full()):
        said = sentences(ablation.decisions)
        assert 3 <= len(said) <= 6
        assert all(text.endswith(".") and text[0].isupper() for text in said)


def test_figures_are_those_of_the_decisions() -> None:
    decisions = in_full().decisions
    first, last = decisions[0], decisions[-1]
    most = max(decisions[1:], key=lambda each: each.saved_cycles)
    text = " ".join(sentences(decisions))
    assert f"falls from {si(first.seconds(first.cycles), 's')} (" in text
    assert f") to {si(last.seconds(last.cycles), 's')}: " in text
    assert f", {si(most.seconds(most.saved_cycles), 's')} (" in text
    computes = last.totals.compute_cycles
    assert f"Compute takes {si(last.seconds(computes), 's')} (" in text
    assert f"to {si(last.totals.traffic_bytes, 'B')} (" in text


def test_nothing_saved_is_said_with_its_reason() -> None:
    first = told().decisions[0]
    idle = [
        replace(first, key=key, before_cycles=first.cycles, made=None, why=f"because of {key}")
        for key in Key
        if key is not Key.START
    ]
    text = " ".join(sentences([first, *idle]))
    assert "no decision makes it faster" in text
    for key in (Key.POLICY, Key.FUSION, Key.ORDER):
        assert f"because of {key}" in text
    assert "Largest saving" not in text


@pytest.mark.parametrize(("left", "said"), [(0, "This is the optimum over"), (1, "at most")])
def test_how_near_the_optimum_it_is(left: int, said: str) -> None:
    *before, last = told().decisions
    assert last.result.value is not None
    least = last.result.value - left
    proved = replace(last, result=replace(last.result, bound=least, fusion_bound=least))
    assert said in sentences([*before, proved])[0]


def test_without_a_bound_none_is_claimed() -> None:
    *before, last = told().decisions
    unproved: Decision = replace(last, result=replace(last.result, bound=None, fusion_bound=None))
    assert "certified" not in sentences([*before, unproved])[0]
