"""Figures beside the paper's: when they are bold, and ratios by hand."""

import pytest

from spmopt.studies.memory import batch, blocks, iso_area, iso_capacity, scaling, training
from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.claim import Claim, both, columns, factor, missed, sheet
from spmopt.studies.memory.conditions import workloads
from spmopt.studies.memory.ratios import (
    best,
    compared,
    energy,
    leak_share,
    less,
    more,
    read_share,
    relative,
)
from spmopt.studies.memory.rows import OPTIMAL, SERIAL, rows_of
from spmopt.studies.rows import Rows
from spmopt.sweep.rows import Row

READS, WRITES, LEAKS = "spm_read_j", "spm_write_j", "leakage_j"


def made_up() -> Rows:
    """Two networks; STT takes a half and a quarter of SRAM's energy, SOT all of it."""
    rows: list[Row] = []
    for reading, scheduler in (("equal time", "page"), ("one by one", "page")):
        for network, left in (("a", 0.5), ("b", 0.25)):
            for role, part in (("sram", 1.0), ("stt", left), ("sot", 1.0)):
                about: Row = {"network": network, "training": False, "batch": 4, "role": role}
                spent: Row = {READS: 3 * part, WRITES: part, LEAKS: 4 * part}
                place: Row = {"reading": reading, "scheduler": scheduler}
                rows.append({**about, **spent, **place})
    return Rows(rows)


def test_ratios_by_hand() -> None:
    rows = made_up().where(reading="equal time")
    found = relative(rows, "stt", energy)
    assert found == {("a", False, 4): 0.5, ("b", False, 4): 0.25}
    assert more(found) == 0.375
    assert less(found) == pytest.approx(1 / 0.375)
    assert best(found) == 4.0
    assert read_share(rows) == 0.75
    assert leak_share(rows) == 0.5


def test_cells() -> None:
    plain = Claim(text="f", paper=2.0, found=lambda _: 0.0)
    assert plain.cell(2.4) == "2.40"
    assert plain.cell(2.5) == "**2.50** (+25.0 %)"
    assert plain.cell(1.5) == "**1.50** (-25.0 %)"
    saved = Claim(text="l", paper=1.1, found=lambda _: 0.0, is_less=True)
    assert saved.cell(1.3) == "1.30"
    assert saved.cell(0.996) == "1.00"
    assert saved.cell(0.99) == "1.01 times more"
    assert saved.cell(0.5) == "**2.00 times more** (-54.5 %)"
    assert Claim(text="m", paper=0.5, found=lambda _: 0.0).cell(0.5) == "0.50"
    share = Claim(text="s", paper=83.0, found=lambda _: 0.0, is_percent=True)
    assert share.cell(87.96) == "88.0"
    assert share.cell(77.0) == "**77.0** (-6.0)"
    assert share.is_missed_by(77.0)
    assert not share.is_missed_by(80.0)


def test_factors_in_words() -> None:
    assert compared([1.5, 2.25], 1) == "1.5 and 2.2 times less"
    assert compared([0.5, 0.25]) == "2.00 and 4.00 times more"
    assert compared([1.5, 0.8]) == "1.50 times less and 1.25 times more"
    assert compared([0.999]) == "1.00 times less"


def test_only_how_many_times_less_turns_round() -> None:
    less_, more_ = factor("e", "stt", 2.0, energy), factor("e", "stt", 2.0, energy, more)
    assert (less_.is_less, more_.is_less) == (True, False)
    of_studies = [c for s in (batch, iso_area, iso_capacity, scaling, training) for c in s.CLAIMS]
    assert [c.is_less for c in of_studies] == ["times less" in c.text for c in of_studies]


def test_a_sheet_of_claims() -> None:
    rows = made_up()
    claims = both("energy, times less", (4.0, 1.1), energy, best)
    assert columns(rows) == [("one by one", "page"), ("equal time", "page")]
    table = sheet(rows, claims, "title")
    assert table.heads == ("figure", "paper", "one by one: page", "equal time: page")
    assert list(map(list, table.rows)) == [
        ["STT-MRAM: energy, times less", "4.00", "4.00", "4.00"],
        ["SOT-MRAM: energy, times less", "1.10", "1.00", "1.00"],
    ]
    wrong = both("energy, times less", (4.0, 2.0), energy, best)
    assert missed(rows, wrong, "equal time", "page") == [wrong[1]]


def test_blocks_of_other_sizes() -> None:
    claims = both("energy, times less", (5.1, 8.6), energy)
    some = workloads(
        {3 * 10**6: ("sram", "stt", "sot")}, networks=("alexnet",), stages=((False, 1),)
    )
    found = blocks.figures(some, claims, Assumptions())
    assert len(found) == len(blocks.TILES) * len(claims)
    table = blocks.sheet(found, claims)
    assert table.heads == ("figure", "paper", "32", "64", "128", "256")
    plain = rows_of(some[0], Assumptions())
    serial = Rows([r for r in plain if r["reading"] == SERIAL and r["scheduler"] == OPTIMAL])
    assert found[f"128: {claims[0].text}"] == pytest.approx(claims[0].found(serial))
    # Larger blocks read less, and the writes of STT-MRAM, which take long, weigh more.
    energies = [found[f"{tile}: {claims[0].text}"] for tile in blocks.TILES]
    assert energies == sorted(energies, reverse=True)
