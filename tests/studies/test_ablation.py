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
        [*lead, "100.0", "+10.0 %", "+20.0 %", "+30.0 %", "+0.0 %", "+50.0 %"],
    ]
    assert gaps.rows == [[*lead, "25.0 %", "10.0 %", "50.0 %", "62.5 %", "25.0 %", "50.0 %"]]
    assert orders.rows == [[*lead, "100.0", "80.00", "-20.0 %", "-9.1 %"]]
    assert found.sentences[0] == (
        "Switched off one at a time, each part costs at most: order +10.0 % (ResNet-50 at 24 MB), "
        "prefetch +20.0 % (ResNet-50 at 24 MB) and offload +0.0 % (ResNet-50 at 24 MB)."
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
    # What the last sentence says by judgement.
    worth = {
        name: recorded.rows.number("bound", network=name, spm_bytes=size, scheduler=COMPLETE)
        / recorded.rows.number("bound", network=name, spm_bytes=size, scheduler="fluid")
        for name in ("resnet50", "mobilenetv2", "transformer", "gnmt")
        for size in (24 * MB,)
    }
    assert worth["gnmt"] > 1.3
    assert all(abs(ratio - 1) < 0.01 for name, ratio in worth.items() if name != "gnmt")
