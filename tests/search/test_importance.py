"""What objectives vary with: exact where machines say it, else by enough solved trials."""

import sys
from pathlib import Path

import pytest

from spmopt.search.importance import importances
from tests.cli.run import Run, runner
from tests.reporting.page.reading import Document
from tests.search.study import FIELDS, MLP, search, small_setup, small_space


def test_shares_of_a_sum_are_those_of_its_variances(tmp_path: Path) -> None:
    setup = small_setup(small_space(cost={"gbps": 1.0, "spm_mb": 1000.0}))
    study = search(str(tmp_path / "s.db"), setup, trials=1)
    found = importances(study, setup)
    # 0.25, 1, 1.75 GB/s and 0.256, 0.64, 1.024 kB: steps of 0.75 and 0.384.
    whole = 0.75**2 + 0.384**2
    assert found["cost"].trials is None
    assert found["cost"].parts == pytest.approx(
        {"bandwidth": 0.75**2 / whole, "spm": 0.384**2 / whole}
    )
    assert (found["time_s"].parts, found["time_s"].trials) == ({}, 1)


def test_only_fields_that_can_matter_are_named(tmp_path: Path) -> None:
    more = {"area.mm2_per_gbps": [1.0, 2.0], "energy.dram_pj_per_byte": [1.0, 2.0]}
    setup = small_setup(
        small_space(space={**FIELDS, **more}, cost={"spm_mb": 1.0}),
        objectives=("time_s", "energy_j", "cost"),
    )
    study = search(str(tmp_path / "s.db"), setup, sampler="brute-force", trials=36, prune=False)
    found = importances(study, setup)
    assert found["time_s"].trials == 36
    assert set(found["time_s"].parts) <= {"spm", "bandwidth"}
    assert sum(found["time_s"].parts.values()) == pytest.approx(1)
    assert found["energy_j"].parts["energy.dram_pj_per_byte"] > 0
    assert "area.mm2_per_gbps" not in found["energy_j"].parts
    assert found["cost"].parts == {"spm": 1.0}


def test_a_space_too_large_to_be_looked_at_whole(tmp_path: Path) -> None:
    fields = {
        "spm": "256B:1024B:1B",
        "page": 16,
        "bandwidth": {"low": "250MB/s", "high": "1750MB/s"},
        "energy.mac_pj": {"low": 1.0, "high": 2.0},
    }
    setup = small_setup(small_space(space=fields, cost={"spm_mb": 1.0}))
    study = search(str(tmp_path / "s.db"), setup, trials=1)
    assert importances(study, setup)["cost"].parts == {"spm": 1.0}


def test_how_many_trials_it_rests_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run: Run = runner(capsys)
    Path("s.toml").write_text(
        "cost = { spm_mb = 1.0 }\n[space]\n"
        'spm = "256B:1024B:384B"\nbandwidth = ["1GB/s", "2GB/s", "3GB/s", "4GB/s"]\npage = "16B"\n'
    )
    line = f"tune {MLP} --space s.toml --objective time,cost -s belady --no-prune --workers 0"
    few = run(f"{line} --trials 3").out
    assert "cost varies with spm 100" in few
    assert "time_s varies with" not in few
    many = run(f"{line} --trials 12 --sampler brute-force --study t").out
    assert "(by the 12 machines solved)." in many


def test_without_scikit_learn_a_search_ends_and_says_what_to_install(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    run: Run = runner(capsys)
    Path("s.toml").write_text(
        'cost = { spm_mb = 1.0 }\n[space]\nspm = "256B:1024B:64B"\npage = "16B"\n'
    )
    line = f"tune {MLP} --space s.toml --objective time,cost -s belady --no-prune --workers 0"
    ran = run(f"{line} --trials 13 --sampler brute-force --storage t.db --study t")
    lines = [each for each in ran.out.splitlines() if "scikit-learn" in each]
    assert ran.code == 0
    assert lines == [
        "Importance of fields for time_s needs the package scikit-learn: "
        "pip install 'scikit-learn>=1.5'"
    ]
    assert "cost varies with spm 100 %." in ran.out
    shown = run("tune show --storage t.db --study t")
    assert (shown.code, "scikit-learn" in shown.out) == (0, True)
    page = run("report --storage t.db --study t -o r.html")
    assert page.code == 0
    document = Document.of(Path("r.html").read_text(encoding="utf-8"))
    assert lines[0] in [text for _, text in document.all("li")]
