"""The ablation on rows made up by hand, and the record in the repository."""

from pathlib import Path

from spmopt.studies.ablation import COMPLETE, NAIVE, STUDY, VARIANTS, find
from spmopt.studies.page import markdown
from spmopt.studies.paper import MB
from spmopt.studies.record import read
from spmopt.studies.rows import Rows
from spmopt.sweep.rows import Row, Value

RESULTS = Path(__file__).parents[2] / "results"
# Seconds with all parts, then by variant; bounds are 0.08 depth-first, 0.1 listed.
TIMES = {
    COMPLETE: 0.1,
    "tsai:order=listed": 0.11,
    "tsai:prefetch=next": 0.12,
    "tsai:prefetch=none": 0.13,
    "tsai:offload=full": 0.1,
    NAIVE: 0.15,
}


def row(scheduler: str, **figures: float) -> Row:
    about: dict[str, Value] = {"network": "resnet50", "spm_bytes": 24 * MB, "scheduler": scheduler}
    return {**about, "time_s": None, "gap": None, **figures}


def made_up() -> Rows:
    rows = []
    for name, time_s in TIMES.items():
        bound = 0.1 if "listed" in name else 0.08
        rows.append(row(name, time_s=time_s, bound=bound, gap=time_s / bound - 1))
    return Rows([*rows, row("fluid", bound=0.1)])


def test_tables_and_sentences() -> None:
    found = find(made_up(), {})
    times, gaps, orders = found.sheets
    lead = ["ResNet-50", "24 MB"]
    assert times.rows == [
        [*lead, "100.0", "+10.0 %", "+20.0 %", "+30.0 %", "0.0 %", "+50.0 %"],
    ]
    assert gaps.rows == [[*lead, "25.0 %", "10.0 %", "50.0 %", "62.5 %", "25.0 %", "50.0 %"]]
    assert orders.rows == [[*lead, "100.0", "80.00", "-20.0 %", "-9.1 %"]]
    at = "(ResNet-50 at 24 MB)"
    assert found.sentences[0] == (
        f"One part switched off changes time by: listed order +10.0 % {at} to +10.0 % {at}; "
        f"prefetch next only +20.0 % {at} to +20.0 % {at}; no prefetch +30.0 % {at} to +30.0 % "
        f"{at}; offload when full 0.0 % {at} to 0.0 % {at}."
    )
    assert found.sentences[2] == (
        "Depth-first order moves the bound of ResNet-50 by -20.0 % to -20.0 %: by the bounds no "
        "network here gains more than 20.0 % by it."
    )


def test_two_networks_have_their_bounds_told_apart() -> None:
    worse = {"tsai": {"bound": 0.15}, "fluid": {"bound": 0.1}}
    others: list[Row] = [
        {**each, "network": "gnmt", **worse.get(str(each["scheduler"]), {})} for each in made_up()
    ]
    found = find(Rows([*made_up(), *others]), {})
    assert found.sentences[2].startswith(
        "Depth-first order moves the bound of GNMT by +50.0 % to +50.0 %, of the others by -20.0 % "
        "to -20.0 %: "
    )


def test_what_is_asked() -> None:
    for part in STUDY.parts():
        assert set(part.schedulers) == {*VARIANTS.values(), "fluid"}


def test_record() -> None:
    recorded = read(STUDY, RESULTS)
    found = find(recorded.rows, recorded.figures)
    assert (RESULTS / "ablation.md").read_text() == markdown(STUDY, recorded.head, found)
    for each in recorded.rows:
        gap, status = each["gap"], each["status"]
        assert isinstance(gap, float), (each["network"], status)
        assert gap >= 0
