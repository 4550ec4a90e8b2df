"""Every study of gradients on two small networks: rows, pages, pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.studies.gradients import (
    assumptions,
    cut_layers,
    layers,
    orders,
    partitions,
    reads,
    scale,
)
from spmopt.studies.gradients import rows as gradient_rows
from spmopt.studies.gradients.long_layers import measured as measured_layers
from spmopt.studies.gradients.measure import Answer, Asked, Tell, measure
from spmopt.studies.gradients.rows import Sweep, at, average, cycles, measured, saving
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.gradients.technique import BASELINE, LAST, POTENTIAL, REPLACEMENTS, TECHNIQUES
from spmopt.studies.page import publish
from spmopt.studies.record import read, table_path
from spmopt.studies.registry import STUDIES
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Study
from spmopt.studies.words import in_percent, percent, signed
from spmopt.sweep.pool import Pool
from tests.studies.small import run

FEW = ("ncf",)
LARGE = (Setting(name="4 cores", machine="large-npu", cores=4),)


def published(study: Study, folder: Path) -> tuple[Rows, str]:
    recorded = run(study, folder)
    publish(study, recorded, folder)
    again = read(study, folder)
    assert list(again.rows) == list(recorded.rows)
    return recorded.rows, (folder / f"{study.name}.md").read_text()


@pytest.mark.usefixtures("one_network")
def test_orders(tmp_path: Path) -> None:
    rows, page = published(orders.STUDY, tmp_path)
    assert rows.texts("network") == list(FEW)
    assert len(rows) == 2 * (3 * 5 - 1)
    for row in rows:
        assert number(row, "bound") <= number(row, "traffic_bytes")
        assert number(row, "compulsory_bytes") <= number(row, "traffic_bytes")
    for machine in rows.texts("machine"):
        for replacement in REPLACEMENTS:
            own = at(rows, machine, replacement)
            assert set(saving(own, BASELINE).values()) == {0.0}
            forward = {number(row, "forward_cycles") for row in own.where(network="ncf")}
            assert len(forward) == 1  # no technique changes it
        buffered = at(rows, machine, "double-buffer")
        ideal = saving(buffered, "+rearrangement, ideal")
        for technique in ("interleaving", "+rearrangement"):
            assert all(saving(buffered, technique)[name] <= ideal[name] for name in FEW)
        last, chosen = saving(buffered, LAST), saving(buffered, "+rearrangement")
        assert all(last[name] >= chosen[name] for name in FEW)
    assert "| small NPU | interleaving | 0.8 |" in page
    for machine in rows.texts("machine"):
        base = rows.one(machine=machine, technique=BASELINE, scheduler="double-buffer")
        cut, best = (
            rows.one(machine=machine, technique=LAST, scheduler=name)
            for name in ("double-buffer", "page")
        )
        same = in_percent(1 - cycles(best) / cycles(base))
        alone = in_percent(1 - cycles(cut, forward=False) / cycles(base, forward=False))
        assert f"| {same} | {alone} |\n" in page
    assert "![What orders of gradients save](gradient-orders.png)" in page
    assert (tmp_path / "gradient-orders.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("one_network")
def test_a_killed_study_goes_on_with_the_next_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tuple(Setting(name=name, machine=name) for name in ("small-npu", "large-npu"))
    study = replace(orders.STUDY, measured=measured(Sweep(settings=settings)), draw=None)
    asked: list[str] = []

    def killed(some: Sequence[Asked], pool: Pool, tell: Tell) -> list[Answer]:
        asked.append(some[0].setting.name)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return measure(some, pool, tell)

    monkeypatch.setattr(gradient_rows, "measure", killed)
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path)
    assert not table_path(tmp_path, study).exists()
    rows = run(study, tmp_path).rows
    assert asked == ["small-npu", "large-npu", "large-npu"]
    whole = tmp_path / "whole"
    whole.mkdir()
    assert list(rows) == list(run(study, whole).rows)


@pytest.mark.usefixtures("one_network")
def test_reads(tmp_path: Path) -> None:
    rows, page = published(reads.STUDY, tmp_path)
    for machine in rows.texts("machine"):
        own = at(rows, machine, "double-buffer")
        of_reads, of_traffic = reads.share(own, "read_bytes"), reads.share(own, "traffic_bytes")
        assert all(of_traffic[name] < of_reads[name] for name in FEW)
        for name in FEW:
            plain, free = (own.one(network=name, technique=t) for t in (BASELINE, POTENTIAL))
            assert number(free, "dy_bytes") <= number(plain, "dy_bytes")
            assert cycles(free) <= cycles(plain)
    assert "| dY of reads, large NPU, % | 51.4 |" in page


@pytest.mark.usefixtures("one_network")
def test_several_cores(tmp_path: Path) -> None:
    (cores, *others) = scale.STUDIES
    techniques = (BASELINE, LAST)
    sweep = Sweep(settings=LARGE, techniques=techniques, replacements=REPLACEMENTS)
    rows, page = published(replace(cores, measured=measured(sweep)), tmp_path)
    assert {row["cores"] for row in rows} == {4}
    assert {row["dram_bytes_per_s"] for row in rows} == {600 * 10**9}
    assert "| 4 cores | +partitioning | 23.7 |" in page
    assert [study.name for study in others] == ["gradient-bandwidth", "gradient-batch"]


def test_settings_of_figures_15_and_16() -> None:
    rates = [each.hardware().dram_bytes_per_s for each in scale.BANDWIDTHS]
    assert rates == [150 * 10**9, 75 * 10**9, 37_500_000_000]
    (network,) = [net for net in scale.BATCHES[0].networks() if net.name == "dlrm"]
    rows = [{layer.layer.m for layer in each.layers(network)} for each in scale.BATCHES]
    assert rows == [{8}, {16}, {32}]


@pytest.mark.usefixtures("one_network")
def test_assumptions(tmp_path: Path) -> None:
    names = ("as everywhere", "2 bytes an element", "the baseline's tiles", "square tiles")
    settings = tuple(
        assumptions.setting(name, machine)
        for name in names
        for machine in ("small-npu", "large-npu")
    )
    techniques = assumptions.SWEEP.techniques
    sweep = Sweep(settings=settings, techniques=techniques)
    rows, page = published(replace(assumptions.STUDY, measured=measured(sweep)), tmp_path)
    found = assumptions.means(rows, "as everywhere")
    assert list(found) == list(assumptions.PAPER)
    byte = rows.one(setting=names[1], machine="small-npu", network="ncf", technique=BASELINE)
    word = rows.one(setting=names[0], machine="small-npu", network="ncf", technique=BASELINE)
    assert 2 * number(byte, "compulsory_bytes") == number(word, "compulsory_bytes")
    exact = average(abs(value - assumptions.PAPER[name]) for name, value in found.items())
    assert f"{exact:.1f}" in page
    readings = {name: assumptions.means(rows, name) for name in (*names, "backward pass alone")}
    paper = assumptions.PAPER["interleaving, small"]
    off = {name: each["interleaving, small"] - paper for name, each in readings.items()}
    near = min(off, key=lambda name: abs(off[name]))
    (line,) = [x for x in page.splitlines() if x.startswith("| interleaving, small |")]
    assert line.endswith(f"| {near} ({signed(off[near])}) |")
    (meaning,) = re.findall(r"## What it means\n\n(.*)\n", page)
    assert len(meaning) < 500


@pytest.mark.usefixtures("two_networks")
def test_partitions(tmp_path: Path) -> None:
    small = cut_layers.measured(cut_layers.SETTING, repetitions=20)
    rows, page = published(replace(partitions.STUDY, measured=small), tmp_path)
    sizes = rows.where(what="size")
    assert len(sizes) == len(cut_layers.sizes(cut_layers.SETTING)) == 9
    for row in sizes:
        costs = [number(row, f"{axis}_cycles") for axis in "mkn"]
        assert number(row, "value") == min(costs) >= number(row, "bound")
        assert costs["mkn".index(str(row["best"]))] == min(costs)
    told = rows.where(what="sizes", distances="logarithms", neighbours=1)
    (prediction,) = told
    assert 0 <= number(prediction, "accuracy") <= 1
    assert number(prediction, "ideal") <= number(prediction, "predicted")
    assert "| paper | - | - | 91 | - | 22.4 | 21.5 |" in page
    told = rows.where(what="all layers", distances="dimensions", neighbours=5)
    beforehand = percent(number(told.one(), "accuracy"))
    assert f"both set beforehand, neighbours predict {beforehand} of all layers" in page


@pytest.mark.usefixtures("two_networks")
def test_layers(tmp_path: Path) -> None:
    small = measured_layers(layers.SETTING, 2)
    rows, page = published(replace(layers.STUDY, measured=small), tmp_path)
    names = rows.texts("layer")
    assert len(names) == 2
    assert len(rows) == 2 * (6 * 3 + 1)
    for row in rows:
        assert number(row, "bound") <= number(row, "value")
        assert number(row, "bound_cycles") <= number(row, "cycles")
    for name in names:
        base = rows.one(layer=name, order="sequential", scheduler="double-buffer")
        assert number(base, "dma_cycles") > number(base, "compute_cycles")
        found = rows.one(layer=name, order="searched", scheduler="double-buffer")
        assert number(found, "cycles") <= number(base, "cycles")
    longest = [
        number(rows.one(layer=name, order="sequential", scheduler="double-buffer"), "cycles")
        for name in names
    ]
    assert longest == sorted(longest, reverse=True)
    assert "## Traffic over the bound of all orders" in page
    for order, scheduler in (("sequential", "page"), ("searched, small tiles", "belady")):
        over = {}
        for value, bound in (("value", "bound"), ("cycles", "bound_cycles")):
            ratios = []
            for name in names:
                least = min(number(row, bound) for row in rows.where(layer=name))
                row = rows.one(layer=name, order=order, scheduler=scheduler)
                ratios.append(number(row, value) / least)
            over[value] = average(ratios)
        (line,) = [x for x in page.splitlines() if x.startswith(f"| {order} | {scheduler} |")]
        cells = line.split(" | ")
        assert cells[2] == f"{over['value']:.3f}"
        assert cells[-1] == f"{over['cycles']:.3f} |"


def test_all_are_listed() -> None:
    assert [name for name in STUDIES if name.startswith("gradient-")] == [
        "gradient-orders",
        "gradient-reads",
        "gradient-layers",
        "gradient-cores",
        "gradient-bandwidth",
        "gradient-batch",
        "gradient-partitions",
        "gradient-assumptions",
    ]
    assert set(TECHNIQUES) > {BASELINE, POTENTIAL, LAST}
