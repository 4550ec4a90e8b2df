"""The study of batch sizes: times per sample by hand, and a tiny run."""

from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.studies import batch
from spmopt.studies.page import publish
from spmopt.studies.rows import Rows
from spmopt.studies.study import Part
from spmopt.sweep.rows import Row
from tests.studies.small import SEARCH, run

MB = 10**6
# Seconds of the policy and of the bound by capacity, network and batch.
SECONDS: dict[tuple[int, str], dict[int, tuple[float, float | None]]] = {
    (24, "resnet50"): {8: (0.08, 0.08), 16: (0.16, 0.16), 32: (0.336, 0.32)},
    (400, "resnet50"): {8: (0.08, 0.04), 16: (0.24, 0.12), 32: (0.64, 0.32)},
    (24, "gnmt"): {8: (0.8, 0.4), 16: (0.8, None), 32: (0.8, 0.8)},
    (400, "gnmt"): {8: (0.16, 0.16), 16: (0.16, None), 32: (0.64, 0.64)},
}


def rows() -> Rows:
    found: list[Row] = []
    for (size, name), batches in SECONDS.items():
        for samples, (policy, bound) in batches.items():
            about: Row = {"network": name, "spm_bytes": size * MB, "batch": samples}
            found.append({**about, "scheduler": "tsai", "time_s": policy, "bound": None})
            if bound is not None:
                scheduler = "page" if name == "gnmt" else "fluid"
                found.append({**about, "scheduler": scheduler, "time_s": 9.0, "bound": bound})
    return Rows(found)


def test_times_per_sample_by_hand() -> None:
    small, large = batch.find(rows(), {}).sheets
    assert small.title == "ms per sample at 24 MB"
    assert small.heads[2:] == ("8", "16", "32", "best batch", "spread, %")
    assert list(map(list, small.rows)) == [
        ["ResNet-50", "tsai", "10.00", "10.00", "10.50", "8", "5.0"],
        ["ResNet-50", "bound", "10.00", "10.00", "10.00", "8", "0.0"],
        ["GNMT", "tsai", "100.0", "50.00", "25.00", "32", "300.0"],
        ["GNMT", "bound", "50.00", "-", "25.00", "32 (of 2)", "100.0"],
    ]
    assert list(large.rows[2]) == ["GNMT", "tsai", "20.00", "10.00", "20.00", "16", "100.0"]


def test_sentences_by_hand() -> None:
    assert batch.find(rows(), {}).sentences == (
        "At 24 MB, by time per sample of tsai, ResNet-50 is flat (within 5.0 %) and GNMT prefers "
        "large batches (the worst takes 300.0 % more).",
        "At 400 MB ResNet-50 prefers small batches (the worst takes 100.0 % more) and GNMT is best "
        "at 16 (the worst takes 100.0 % more). The thesis has it otherwise, for a reason that is "
        "not known here: ResNet-50 at 400 MB flat there, prefers small batches here.",
        "A batch that is badly scheduled is not a bad batch: tsai takes more time than the bound "
        "by at most: ResNet-50 100.0 % at batch 32 and 400 MB and GNMT 100.0 % at batch 8 and "
        "24 MB (of 2 batches).",
    )


def test_shapes() -> None:
    assert batch.shape({8: 1.0, 16: 1.05, 32: 1.02}) == "flat"
    assert batch.shape({8: 1.0, 16: 1.5, 32: 1.2}) == "prefers small batches"
    assert batch.shape({8: 1.5, 16: 1.2, 32: 1.0}) == "prefers large batches"
    assert batch.shape({8: 1.5, 16: 1.0, 32: 1.2}) == "is best between"
    as_in_the_thesis = [row for row in rows() if row["network"] == "gnmt"]
    assert (
        batch.find(Rows(as_in_the_thesis), {})
        .sentences[1]
        .endswith("All of this is as in the thesis.")
    )


def test_a_tiny_run(tmp_path: Path) -> None:
    part = Part(
        name="small",
        cases=tuple(
            replace(case, capacities=(500_000, 2 * MB))
            for case in batch.cases(("bert-tiny",), (1, 2))
        ),
        schedulers=("tsai", "fluid"),
        search=SEARCH,
    )
    study = replace(batch.STUDY, parts=lambda: (part,))
    recorded = run(study, tmp_path)
    found = publish(study, recorded, tmp_path)
    assert [line[1] for sheet in found.sheets for line in sheet.rows] == ["tsai", "bound"] * 2
    for size in (500_000, 2 * MB):
        mine = batch.curve(recorded.rows, "bert-tiny", size, "tsai")
        for samples, value in mine.items():
            time_s = recorded.rows.number("time_s", scheduler="tsai", batch=samples, spm_bytes=size)
            assert value == pytest.approx(time_s / samples)
        assert list(batch.curve(recorded.rows, "bert-tiny", size, "bound")) == [1, 2]
    assert (tmp_path / "batch.png").read_bytes().startswith(b"\x89PNG")


def test_the_conditions() -> None:
    small, gnmt, optimum = batch.parts()
    assert [case.network.batch for case in small.cases[:6]] == [8, 16, 32, 64, 128, 256]
    assert len(gnmt.cases) == 6
    assert [case.network.batch for case in optimum.cases] == [8, 32, 128]
    assert {case.capacities for case in (*small.cases, *gnmt.cases)} == {(24 * MB, 400 * MB)}
