"""What the study of reads says of a network at larger batches."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from spmopt.studies.gradients import reads
from spmopt.studies.gradients.rows import measured
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.record import read
from spmopt.studies.rows import Rows, number
from tests.studies.small import run

RESULTS = Path(__file__).parents[3] / "results"


def test_a_sweep_of_one_network() -> None:
    asked = reads.SWEEPS[1].asked()
    assert [(each.network.abbreviation, each.setting.batch) for each in asked] == [
        ("dlrm", 64),
        ("dlrm", 512),
        ("dlrm", 2048),
    ]
    every = {each.network.abbreviation for each in reads.SWEEPS[0].asked()}
    assert len(every) == 9


def test_shares_at_larger_batches_are_of_the_rows(tmp_path: Path) -> None:
    larger = Setting(name="batch 64", machine="large-npu", batch=64)
    sweep = replace(reads.SWEEPS[1], settings=(larger,))
    fresh = run(replace(reads.STUDY, measured=measured(sweep)), tmp_path).rows
    assert number(fresh.one(network="dlrm"), "dy_bytes") > 0
    plain = read(reads.STUDY, RESULTS).rows.where(setting="plain")
    rows = Rows([*plain, *fresh])
    findings = reads.find(rows, {})
    (note,) = [note for note in findings.notes if note.startswith("**dlrm**")]
    told = [(float(share), int(size)) for share, size in re.findall(r"([\d.]+) % at (\d+)", note)]
    own = rows.where(
        network="dlrm", machine="large-npu", technique="baseline", scheduler="double-buffer"
    )
    assert told == [
        (round(100 * number(row, "dy_bytes") / number(row, "read_bytes"), 1), row["batch"])
        for row in own
    ]
    assert [size for _, size in told] == [8, 64]
    assert told[0][0] < told[1][0]
    # The tables are of the paper's batches alone.
    assert findings.sheets == reads.find(plain, {}).sheets
