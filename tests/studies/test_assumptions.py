"""The study of assumptions: figures by hand, and how networks are read."""

from itertools import product

import pytest

from spmopt.studies import assumptions
from spmopt.studies.claim import CLAIMS
from spmopt.studies.paper import FAST, MB, RATE, case
from spmopt.studies.readings import ALL, COUNTING, READINGS, VOCABULARY, WIDTH
from spmopt.studies.rows import Rows
from spmopt.sweep.rows import Row

# What is left of time and traffic at more than 24 MB, by reading; listed it is 0.1 less.
LEFT = {"tsai": 0.9, "counting": 0.6, "width": 0.8, "vocabulary": 0.7, "all": 0.45}


def made_up() -> Rows:
    """More throughput gives 40 %, under each assumption 25 %."""
    rows: list[Row] = []
    for part in assumptions.parts():
        reading = part.name.removesuffix("-faster")
        ratio = 1.4 if reading == "tsai" else 1.25
        for each, scheduler in product(part.cases, part.schedulers):
            for size in each.capacities:
                left = 1.0 if size == 24 * MB else LEFT[reading]
                left -= 0.1 if "listed" in scheduler and size > 24 * MB else 0.0
                spent = left / (ratio if part.name.endswith("faster") else 1.0)
                about: Row = {"part": part.name, "network": each.network.name}
                found: Row = {"spm_bytes": size, "scheduler": scheduler, "time_s": spent}
                rows.append({**about, **found, "traffic_bytes": int(1000 * spent)})
    return Rows(rows)


FIGURES = {
    "type2 resnet50 tsai": 30.0,
    "type2 resnet50 counting": 45.0,
    "type2 resnet50 all": 45.0,
    "type2 resnet50 listed": 30.0,
    "type2 resnet50 all, listed": 45.0,
}


def test_lines_by_hand() -> None:
    (sheet,) = assumptions.find(made_up(), FIGURES).sheets
    assert sheet.heads[2:] == (*LEFT, "listed", "all, listed")
    lines = {line[0]: list(line[1:]) for line in sheet.rows}
    assert lines["Transformer: time, 24 to 500 MB"] == [
        *("-26.5", "**-10.0**", "**-40.0**", "-20.0", "-30.0", "**-55.0**", "-20.0", "**-65.0**")
    ]
    # Width and vocabulary are none of ResNet-50's.
    assert lines["ResNet-50: time, 24 to 500 MB"] == [
        *("-48.1", "**-10.0**", "-40.0", "-", "-", "-55.0", "**-20.0**", "**-65.0**")
    ]
    assert lines["ResNet-50: speed, 13.45 to 23.04 TFLOP/s, 24 MB"] == [
        *("+20", "**+40.0**", "+25.0", "-", "-", "+25.0", "**+40.0**", "+25.0")
    ]
    assert lines["ResNet-50: point-wise share of time, 24 MB"] == [
        *("46.15", "**30.0**", "45.0", "-", "-", "45.0", "**30.0**", "45.0")
    ]


def test_sentences_count_what_each_meets() -> None:
    first, second, third = assumptions.find(made_up(), FIGURES).sentences
    assert first == (
        "Of 15 figures 12 are missed by more than 10 points. Of these each by itself meets: "
        "counting 3, width 1, vocabulary 1 and listed 1; all three assumptions together 3 (in the "
        "order listed 6)."
    )
    assert second.startswith(
        "Alone counting meets ResNet-50's time, ResNet-50's speed and ResNet-50's point-wise "
        "share, width meets Transformer's time, vocabulary meets Transformer's time and listed "
        "meets Transformer's time; none take several together."
    )
    assert "GNMT's time (-55.0 %, -65.0 % in the order listed, -81.1 % in the thesis)" in third


def test_readings_change_what_they_say() -> None:
    plain = case("transformer", (24 * MB,))
    assert COUNTING.of(plain).machine.operations_per_s == 2 * RATE
    assert COUNTING.of(plain).network == plain.network
    assert WIDTH.of(plain).network.parameters == (("inner", 1024),)
    assert WIDTH.of(plain).machine == plain.machine
    gnmt = VOCABULARY.of(case("gnmt", (24 * MB,)))
    assert gnmt.network.parameters == (("plain", 1), ("vocabulary", 1))
    both = ALL.of(case("transformer", (24 * MB,), throughput=FAST))
    assert both.machine.operations_per_s == 2 * FAST
    assert both.network.parameters == (("inner", 1024), ("vocabulary", 1))
    assert [WIDTH.applies(name) for name in ("transformer", "gnmt")] == [True, False]


def test_every_figure_is_asked_under_every_reading_that_changes_it() -> None:
    asked = {
        (part.name, each.network.name, size)
        for part in assumptions.parts()
        for each in part.cases
        for size in each.capacities
    }
    for claim in (each for each in CLAIMS if not each.is_share):
        for name, reading in READINGS.items():
            part = f"{name}-faster" if claim.kind == "faster" else name
            wanted = name == "tsai" or reading.applies(claim.network)
            assert ((part, claim.network, claim.at_mb * MB) in asked) == wanted


@pytest.mark.parametrize("claim", [each for each in CLAIMS if each.is_share])
def test_shares_that_were_not_measured_are_left_open(claim: object) -> None:
    assert isinstance(claim, type(CLAIMS[0]))
    assert assumptions.value(claim, "tsai", Rows([]), {}) is None
    assert assumptions.missed("tsai", made_up(), {}) == [
        each for each in assumptions.missed("tsai", made_up(), FIGURES) if not each.is_share
    ]
