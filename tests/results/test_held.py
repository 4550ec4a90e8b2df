"""The held set is drawn the same everywhere, forty different networks; each is lowered."""

from __future__ import annotations

import pytest

from results.held.draw import CASES, HALVES, MACHINES, OPERATIONS, drawn
from results.held.run import BENCH, HEADS, main, note
from results.shared.bench import read
from tests.results.pages import RESULTS
from tests.thorough import some

CASE = [(half, number) for half in HALVES for number in range(CASES)]


def test_the_draw_repeats_and_no_two_cases_are_alike() -> None:
    draws = [drawn(*case) for case in CASE]
    assert draws == [drawn(*case) for case in CASE]
    assert {each.machine for each in draws} == {*MACHINES}
    graphs = [next(each.networks()).graph for each in draws]
    assert graphs[:3] == [next(each.networks()).graph for each in draws[:3]]
    shapes = [tuple(value.shape for value in graph.values) for graph in graphs if graph is not None]
    assert len({*shapes}) == len(CASE) == 40


@pytest.mark.parametrize(
    "case", some([(HALVES[0], 7), (HALVES[0], 12), (HALVES[0], 15), *CASE], 15)
)
def test_cases_are_lowered_as_they_were_recorded(case: tuple[str, int]) -> None:
    problem = drawn(*case).problem()
    assert len(problem.operations) in OPERATIONS
    _, runs = read(RESULTS / "held" / "rows.json")
    own = [line for name, line in runs.items() if name.startswith(" ".join(map(str, case)) + " ")]
    assert [line["10 s"][0]["operations"] for line in own] == [len(problem.operations)]


def test_summaries_count_cases_without_a_bound_or_a_schedule() -> None:
    names = [line.name for line in BENCH.lines[:6:3]]  # two of a family
    found = {"2 s.ms": 1.0, "2 s.gap": 0.02, "2 s.over_s": 0.5}
    lines = note(
        {names[0]: found, names[1]: {"10 s.ms": 1.0, "10 s.gap": None, "10 s.over_s": 0.0}}
    )
    assert [line.strip("| ").split(" | ") for line in lines.splitlines()[2:4]] == [
        ["seen", "convolutional", "2", "2", "2", "2", "0 of 2", "1 of 2", "0", "1", "0.50", "0.50"],
        [
            "seen",
            "convolutional",
            "2",
            "10",
            "-",
            "-",
            "0 of 2",
            "0 of 2",
            "1",
            "1",
            "0.00",
            "0.00",
        ],
    ]
    assert len(HEADS) == 12


def test_a_half_alone_is_not_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--half", "unseen", "--only", "seen 7 no such words"])
    assert "nothing to measure" in capsys.readouterr().err
