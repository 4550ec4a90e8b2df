"""The study of greedy rules: statistics of gaps by hand, and a tiny run."""

from dataclasses import replace
from pathlib import Path
from statistics import mean, median

from spmopt.frontends.shipped import shipped
from spmopt.studies import gaps, policies
from spmopt.studies.page import publish
from spmopt.studies.record import read
from spmopt.studies.rows import Rows
from spmopt.sweep.rows import Row
from tests.studies.small import network, run

MB = 10**6
ROOT = Path(__file__).parents[2]
# (forward at 24 MB, forward at 64 MB, training at 24 MB, training at 64 MB)
EXAMPLE = {
    "stream": (0.5, 0.6, 0.7, 0.8),
    "tsai": (0.3, 0.1, 0.4, 0.4),
    "belady": (0.2, 0.1, 0.4, 0.3),
    "belady:granularity=page": (0.1, 0.1, 0.2, 0.2),
    "belady-size": (0.1, 0.05, 0.2, 0.25),
    "belady-size:granularity=page": (0.0, 0.05, 0.01, 0.02),
}


# Bounds of the traffic: that of a no longer falls.
LEAST = {"a": {24: 3.0, 64: 3.0}, "b": {24: 4.0, 64: 2.0}}


def rows() -> Rows:
    """Traffic gaps are twice those of time; the relaxation is enclosed to 0.2 %.

    By the bound of its own order tsai has half the gap.
    """
    points = [("a", False, 24), ("a", False, 64), ("b", True, 24), ("b", True, 64)]
    found: list[Row] = []
    for factor, part in ((1, "time"), (2, "traffic")):
        for scheduler, each in {**EXAMPLE, "fluid": (0.001, 0.0, 0.002, 0.0)}.items():
            for (name, training, size), gap in zip(points, each, strict=True):
                mine = gap if scheduler == "fluid" else factor * gap
                bound = 1.0 if part == "time" else LEAST[name][size]
                found.append(
                    {
                        "part": part,
                        "network": name,
                        "training": training,
                        "spm_bytes": size * MB,
                        "scheduler": scheduler,
                        "gap": mine / 2 if scheduler == "tsai" else mine,
                        "value": bound * (1 + mine),
                        "bound": bound,
                    }
                )
    return Rows(found)


def test_medians_means_and_worst_cases_by_hand() -> None:
    time, traffic, *_ = policies.find(rows(), {}).sheets
    assert time.heads == (
        *("rule", "mean", "median", "median forward", "median training"),
        *("median 24 MB", "median 64 MB", "worst", "where", "best, ties included, of 4"),
    )
    by_rule = {line[0]: list(line[1:]) for line in time.rows}
    # Median of 0.3, 0.1, 0.4, 0.4: 0.35; mean 0.3.
    assert by_rule["tsai"] == ["30", "35", "20", "40", "35", "25", "40", "b training, 64 MB", "0"]
    assert by_rule["tsai, own order"] == [
        *("15", "17.5", "10", "20", "17.5", "12.5", "20", "b training, 64 MB", "-")
    ]
    assert [line[0] for line in time.rows][1:3] == ["tsai", "tsai, own order"]
    assert by_rule["belady-size"][-1] == "1"
    assert by_rule["belady-size by pages"][-3:] == ["5", "a forward, 64 MB", "4"]
    moved = {line[0]: list(line[1:]) for line in traffic.rows}
    assert moved["tsai"][2:4] == ["40", "80"]


def test_best_rules_of_networks_by_hand() -> None:
    sheet = policies.find(rows(), {}).sheets[3]
    pages = "belady-size by pages"
    assert list(map(list, sheet.rows)) == [
        ["a", "forward", "belady-size", "10 / 5", pages, "0 / 5"],
        ["b", "training", "belady-size", "20 / 25", pages, "1 / 2"],
    ]
    assert sheet.title.endswith("% at 24 / 64 MB")


def test_sentences_by_hand() -> None:
    found = policies.find(rows(), {})
    first, second, third = found.sentences
    assert first == (
        "The best greedy rule of whole tensors, belady-size, takes 15.0 % more time than the "
        "certified bound on average (median 15.0 %, at worst 25.0 %: b training, 64 MB), the "
        "published ones 30.0 % (tsai; 15.0 % above the bound of its own order); the best of "
        "all, belady-size by pages, takes 2.0 % (median 1.5 %, at worst 5.0 %: a forward, 64 MB)."
    )
    assert second.startswith(
        "Belady-size loses most, on average over capacities and steps, on b (22.5 %) and a "
        "(7.5 %), where to keep nothing costs 75.0 % and 55.0 %; "
    )
    assert second.endswith(
        "Where to keep nothing costs least, a (55.0 %) and b (75.0 %), computation covers traffic: "
        "there 15.0 % and 45.0 % more traffic than the bound goes with 7.5 % and 22.5 % more time."
    )
    assert "belady from 25.0 % on average to 15.0 %" in third
    assert "takes it to 15.0 %, and both together to 2.0 %" in third
    assert "At 1 of 4 points" in found.notes[2]
    assert "enclosed to within 0.2 %" in found.notes[4]


def test_networks_by_hand() -> None:
    sheet = policies.find(rows(), {}).sheets[2]
    assert list(map(list, sheet.rows)) == [
        ["b", "75", "22.5", "1.5", "45", "- / -"],
        ["a", "55", "7.5", "2.5", "15", "24 MB / -"],
    ]


def test_a_network_that_fits_is_told() -> None:
    both: list[Row] = [*rows()]
    both += [{**row, "training": True} for row in rows() if row["network"] == "a"]
    told = policies.find(Rows(both), {}).sentences[1]
    assert "(a fits, its least traffic is level from 24 MB)" in told
    assert gaps.levels(Rows(both)) == {"a": (24 * MB, 24 * MB), "b": (None, None)}


def test_points_that_a_rule_has_no_schedule_for_are_left_out() -> None:
    lame: list[Row] = [
        {**row, "value": None} if row["scheduler"] == "tsai" and row["network"] == "a" else row
        for row in rows()
    ]
    found = gaps.gaps(Rows(lame).where(part="time"))
    assert list(found["belady"]) == [("b", True, 24 * MB), ("b", True, 64 * MB)]


def test_all_networks_are_there_forward_and_training() -> None:
    networks = policies.networks()
    assert len(networks) == 2 * (11 + 9)
    assert len(shipped()) == 9
    assert len({(each.label, each.training) for each in networks}) == 40
    assert all("/" not in each.label for each in networks)


def test_the_figures_that_the_readme_quotes_are_those_of_the_rows() -> None:
    rows = read(policies.STUDY, ROOT / "results").rows
    found = gaps.gaps(rows.where(part="time"))
    own = gaps.own_of(rows, "time", found)
    labels = {
        "`belady`, whole tensors": found["belady"],
        "`autotm`": found["autotm"],
        "`tsai`, the published policy, depth first": found["tsai"],
        "`tsai` against the bound of its own, depth-first order": own[gaps.OWN],
        "`msa`, as XLA": found["msa"],
        "`belady-size`, the best rule of whole tensors": found["belady-size"],
        "`belady-size:granularity=page`, the best rule": found[f"belady-size{gaps.PAGES}"],
    }
    readme = (ROOT / "spmopt" / "schedulers" / "README.md").read_text()
    for label, of in labels.items():
        middle, average, worst = (100 * pick(of.values()) for pick in (median, mean, max))
        assert f"| {label} | {middle:.1f} % | {average:.1f} % | {worst:.0f} % |" in readme
    text = " ".join(readme.split())
    network = {line[0]: line for line in policies.find(rows, {}).sheets[2].rows}
    for name, title in (
        ("mobilenetv2", "MobileNetV2"),
        ("shufflenet.onnx", "ShuffleNet"),
        ("densenet121.onnx", "DenseNet"),
    ):
        assert f"{title} ({float(network[name][2]):.1f} %)" in text
    assert gaps.levels(rows)["bert-tiny"] == (24 * MB, 128 * MB)


def test_a_tiny_run(tmp_path: Path) -> None:
    some = [replace(network(), lowering="tiled", training=each) for each in (False, True)]
    tiny = policies.parts_of(some, (300_000, 600_000))
    study = replace(policies.STUDY, parts=lambda: tiny)
    recorded = run(study, tmp_path)
    found = publish(study, recorded, tmp_path)
    assert len(recorded.rows) == 2 * 2 * 2 * (len(policies.RULES) + 1)
    assert len(found.sheets[0].rows) == len(policies.RULES) + 1
    page = (tmp_path / "policies.md").read_text()
    assert (tmp_path / "policies.png").read_bytes().startswith(b"\x89PNG")
    assert all(sentence in page for sentence in found.sentences)
    # No rule is better than the bound of its order.
    assert all(isinstance(row["gap"], float) and row["gap"] >= 0 for row in recorded.rows)
