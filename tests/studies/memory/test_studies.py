"""Every study on one small network: rows, pages, pictures, and what the rows must satisfy."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.studies.memory import batch, iso_area, iso_capacity, scaling, training
from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.conditions import MB, MIB, Question, workloads
from spmopt.studies.memory.ratios import (
    delay,
    edp,
    edp_dram,
    energy,
    leakage,
    less,
    more,
    relative,
    system,
    time,
    write_energy,
)
from spmopt.studies.memory.rows import BANKS, EQUAL, OPTIMAL, SERIAL, Workload
from spmopt.studies.page import publish
from spmopt.studies.record import read
from spmopt.studies.registry import STUDIES
from spmopt.studies.rows import Rows, number
from tests.studies.small import run

ROLES = ("sram", "stt", "sot")
NVSIM = Assumptions(sram="nvsim-sram", stt="nvsim-stt", sot="nvsim-sot")


def published(
    question: Question, some: tuple[Workload, ...], folder: Path, assumed: Assumptions
) -> tuple[Rows, str]:
    study = replace(replace(question, workloads=some).study(assumed), figures=dict)
    recorded = run(study, folder)
    publish(study, recorded, folder)
    assert list(read(study, folder).rows) == list(recorded.rows)
    for row in recorded.rows:
        assert row["verified"] is True
        assert number(row, "bound") <= number(row, "value") * (1 + 1e-12)
    assert (folder / f"{study.name}.png").read_bytes().startswith(b"\x89PNG")
    return recorded.rows, (folder / f"{study.name}.md").read_text()


def test_same_capacity(tmp_path: Path) -> None:
    some = workloads({3 * MB: ROLES}, networks=("alexnet",), stages=((True, 1),))
    rows, page = published(iso_capacity.QUESTION, some, tmp_path, Assumptions())
    assert len(rows) == 3 * 3 * 2
    _one_schedule_for_all(rows)
    _banks_take_longer(rows)
    _sums(rows)
    assert "| STT-MRAM: dynamic energy, times SRAM's | 2.10 |" in page
    assert "## In terms of SRAM, banks, page" in page
    assert "alexnet T" in page


def _one_schedule_for_all(rows: Rows) -> None:
    """In equal time the greedy schedule is the same, whatever the technology."""
    greedy = rows.where(reading=EQUAL, scheduler="lru")
    assert len({(row["time_s"], row["read_bytes"], row["dram_bytes"]) for row in greedy}) == 1
    assert more(relative(greedy, "stt", leakage)) == pytest.approx(748 / 6442)
    serial = rows.where(reading=SERIAL, scheduler=OPTIMAL)
    assert len({row["dram_bytes"] for row in serial}) == 1
    assert number(next(iter(serial)), "dram_bytes") <= number(next(iter(greedy)), "dram_bytes")


def _banks_take_longer(rows: Rows) -> None:
    for role in ROLES:
        free, bound = (
            rows.number("time_s", role=role, reading=reading, scheduler="lru")
            for reading in (EQUAL, BANKS)
        )
        assert free <= bound


def _sums(rows: Rows) -> None:
    """Optimal schedules take no more energy than greedy ones."""
    for reading in (EQUAL, BANKS):
        for role in ROLES:
            greedy, best = (
                system(rows.one(role=role, reading=reading, scheduler=name))
                for name in ("lru", OPTIMAL)
            )
            assert best <= greedy * 1.01
            row = rows.one(role=role, reading=reading, scheduler=OPTIMAL)
            assert system(row) == pytest.approx(number(row, "value"))
            assert edp(row) == pytest.approx(energy(row) * number(row, "time_s"))
            assert edp_dram(row) > edp(row)


def test_same_area(tmp_path: Path) -> None:
    some = workloads(iso_area.SCRATCHPADS, networks=("alexnet",), stages=((False, 1),))
    rows, page = published(iso_area.QUESTION, some, tmp_path, Assumptions())
    assert {(row["role"], row["spm_bytes"]) for row in rows} == {
        ("sram", 3 * MB),
        ("stt", 7 * MB),
        ("sot", 10 * MB),
    }
    least = rows.where(reading=SERIAL, scheduler=OPTIMAL)
    saved = iso_area.saved(least, "sot")["alexnet I"]
    assert 0 <= saved < 1
    assert "| alexnet I |" in page
    assert "## DRAM traffic saved against SRAM, %" in page
    banks = rows.where(reading=BANKS, scheduler=OPTIMAL)
    slower = more(relative(banks, "stt", delay))
    worse = more(relative(banks, "stt", edp_dram))
    meaning = page.split("## What it means")[1].split("## Notes")[0]
    assert (
        f"STT-MRAM takes {slower:.2f} times the time of SRAM, {worse:.2f} times its EDP" in meaning
    )
    capacity = iso_area.CLAIMS[-1]
    assert capacity.found(least) == pytest.approx(10 / 3)


def test_scaling(tmp_path: Path) -> None:
    sizes = (MIB, 4 * MIB)
    some = workloads(
        dict.fromkeys(sizes, ROLES),
        networks=("alexnet",),
        stages=((False, 1),),
        readings=(SERIAL, EQUAL),
    )
    rows, page = published(scaling.QUESTION, some, tmp_path, NVSIM)
    assert rows.sizes() == list(sizes)
    serial = rows.where(reading=SERIAL, scheduler=OPTIMAL)
    found = [less(relative(serial.where(spm_bytes=s), "stt", energy)) for s in sizes]
    assert found[0] < found[1]  # leakage of SRAM grows with the capacity
    assert scaling.at_best("stt", energy, serial) == pytest.approx(found[1])
    worst = more(relative(serial.where(spm_bytes=MIB), "stt", time))
    assert scaling.at_worst("stt", time, serial) == worst
    assert "another source" in page
    assert "| 4 MiB |" in page


def test_batch(tmp_path: Path) -> None:
    some = workloads(
        {3 * MB: ROLES},
        networks=("alexnet",),
        stages=((True, 1), (True, 2), (False, 1), (False, 2)),
        readings=(SERIAL, EQUAL),
    )
    rows, page = published(batch.QUESTION, some, tmp_path, Assumptions())
    serial = rows.where(reading=SERIAL, scheduler=OPTIMAL)
    for training_step in (True, False):
        found = batch.curve(serial, training_step, "stt")
        shares = batch.reads(serial, training_step)
        assert list(found) == list(shares) == [1, 2]
        # The more reads, the better STT-MRAM, whose writes take long.
        assert (found[1] < found[2]) == (shares[1] < shares[2])
    least, most = (claim.found(serial) for claim in batch.CLAIMS[:2])
    assert [least, most] == sorted(batch.curve(serial, True, "stt").values())
    assert "STT-MRAM, training: EDP, times less, least | 2.30" in page
    equal = batch.curve(rows.where(reading=EQUAL, scheduler=OPTIMAL), True, "stt")
    meaning = page.split("## What it means")[1].split("## Notes")[0]
    told = f"equal time, in training STT-MRAM from {equal[1]:.2f} to {equal[2]:.2f}"
    assert told in meaning
    assert not re.search(r"0\.\d+ times less", meaning)


def test_training(tmp_path: Path) -> None:
    some = workloads(
        {training.SAME: ("sram", "stt", "relaxed"), training.LARGE: ("stt", "relaxed")},
        networks=("alexnet",),
        stages=((True, 1),),
    )
    rows, page = published(training.QUESTION, some, tmp_path, Assumptions())
    for reading in (SERIAL, EQUAL, BANKS):
        own = rows.where(reading=reading, scheduler="lru")
        for size in (training.SAME, training.LARGE):
            pair = training.at(own, size)
            writes = relative(pair, "relaxed", write_energy, "stt")
            # With banks the greedy schedule may move a little more or less in another time.
            assert more(writes) == pytest.approx(0.5, rel=0.02 if reading == BANKS else 1e-9)
            assert more(relative(pair, "relaxed", time, "stt")) <= 1
    most = training.most_possible(rows, training.SAME)
    assert most == pytest.approx(6442 / 748)
    equal = training.at(rows.where(reading=EQUAL, scheduler="lru"), training.SAME)
    assert less(relative(equal, "stt", energy)) < most
    assert "relaxed writes: write energy, times less (over 2) (input) | 2.00" in page


def test_all_are_listed() -> None:
    assert [name for name in STUDIES if name.startswith("memory-")] == [
        "memory-iso-capacity",
        "memory-iso-area",
        "memory-scaling",
        "memory-batch",
        "memory-training",
    ]
    conditions = {
        (each.network, each.training, each.batch) for each in iso_capacity.QUESTION.workloads
    }
    assert len(conditions) == 10
    assert {each[1:] for each in conditions} == {(False, 4), (True, 64)}
