"""A sweep on a Dask cluster gives the rows of one here."""

import re
from pathlib import Path

import pytest
from distributed import LocalCluster

from tests.cli.run import runner

LINE = "sweep instances/mlp.json --spm 512B:1024B:256B -s belady,fluid"


def test_rows_are_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = runner(capsys)
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        there = run(
            f"{LINE} --scheduler-address {cluster.scheduler_address} "
            f"--wait-for-workers 1 -o {tmp_path}/a.csv"
        )
    here = run(f"{LINE} --jobs 1 -o {tmp_path}/b.csv")
    assert (there.code, here.code) == (0, 0)
    rows = [timeless((tmp_path / name).read_text()) for name in ("a.csv", "b.csv")]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 2 + 6


def timeless(text: str) -> list[str]:
    """Rows without the seconds that they took."""
    head, names, *rows = text.splitlines()
    place = names.split(",").index("solve_s")
    kept = [",".join(cell for k, cell in enumerate(row.split(",")) if k != place) for row in rows]
    return [re.sub(r'"jobs": \d+', "", head), names, *kept]
