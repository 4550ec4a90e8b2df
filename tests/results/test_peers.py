"""Peers: what was recorded is whole, and what is counted as theirs is."""

from __future__ import annotations

import sys
from itertools import product
from math import ceil

import pytest

import spmopt
from results.peers import accelforge, cases, scalesim, soma, stream, zigzag
from results.peers.run import lines, programs
from spmopt.core.errors import InputError
from spmopt.core.problem import TensorKind
from spmopt.graph.operators.spec import Gemm

PEERS = ("ZigZag", "SCALE-Sim", "SoMa", "Stream", "Deeploy", "AccelForge")
RECORDED = sorted(path.stem for path in cases.RECORDED.glob("*.json"))


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_recorded_says_with_what_how_and_when(name: str) -> None:
    found = cases.load(name)
    assert found.version.split()[0] in PEERS
    assert found.command
    assert len(found.date) == len("2026-01-01")
    assert "/tmp" not in found.command


def test_every_line_is_recorded_or_says_that_it_is_not() -> None:
    for line in lines():
        assert line.parts["peer"]()["by"]
    with pytest.raises(InputError, match="nothing is recorded"):
        cases.load("nobody")


def test_only_known_peers_are_asked() -> None:
    assert programs("zigzag=python3 soma=/a/b") == {"zigzag": "python3", "soma": "/a/b"}
    for command in ("nobody=python3", "zigzag", "zigzag="):
        with pytest.raises(InputError, match="write NAME=PROGRAM"):
            programs(command)


def test_a_peer_that_fails_says_why() -> None:
    with pytest.raises(InputError, match="no-such-program cannot be run"):
        cases.ask(["no-such-program"])
    with pytest.raises(InputError, match="ValueError: why"):
        cases.ask([sys.executable, "-c", "raise ValueError('why')"])
    assert cases.ask([sys.executable, "-c", "print('noise'); print('{\"figure\": 1}')"]) == {
        "figure": 1
    }


def test_zigzag_cycles_are_those_of_its_layers() -> None:
    found = cases.load(zigzag.CASES[0].name)
    computing = sum(round(layer["computation"]) for layer in found.layers.values())
    costed = zigzag.costed(found, "")
    assert sum(each.mappings[0].compute_cycles for each in costed.operations) == computing
    loading = sum(round(sum(layer.values())) for layer in found.layers.values())
    assert loading > computing
    counted = {
        each.name: each.mappings[0].compute_cycles
        for each in zigzag.costed(found, "all").operations
    }
    assert sum(counted[name] for name in found.layers) == loading
    assert all(counted[name] > 0 for name in counted.keys() - found.layers.keys() if counted[name])


def test_what_stays_on_chip_is_what_no_transfer_moves() -> None:
    """On SqueezeNet the image and all weights come in, once each, and the result goes out."""
    found = cases.load(zigzag.CASES[0].name)
    solution = spmopt.solve(zigzag.costed(found, ""), scheduler="residency")
    inside = zigzag.on_chip(solution, found.layers)
    sizes = [t.size_bytes for t in solution.problem.tensors if t.in_dram or t.keep]
    assert solution.result.totals is not None
    assert solution.result.totals.traffic_bytes == sum(sizes)
    first, *others = inside.values()
    assert (first, {*others}) == ("O", {"IO"})
    # With room for nothing everything crosses.
    problem = solution.problem
    streamed = spmopt.solve(problem, scheduler="stream")
    assert {*zigzag.on_chip(streamed, found.layers).values()} == {""}


def test_products_take_the_cycles_of_the_loops_around_the_units() -> None:
    for channels, kernel, filters, box in (
        *((3, 7, 64, (1, 112, 112)), (64, 1, 256, (4, 56, 56)), (512, 3, 512, (2, 7, 7))),
        *((2048, 1, 1000, (4, 1, 1)), (128, 3, 128, (1, 9, 28))),
    ):
        assert soma.product_cycles(channels, kernel, filters, box) == looped(
            channels, kernel, filters, box
        )


def test_parts_of_layers_take_the_cycles_of_their_sizes() -> None:
    machine = spmopt.machine(soma.MACHINE)
    for part, loops in (
        (Gemm(m=4, k=1024, n=1000), (1024, 1, 1000, (4, 1, 1))),  # half of the last layer
        (Gemm(m=112 * 7, k=147, n=32), (3, 7, 32, (1, 7, 112))),  # filters of a stripe
        (Gemm(m=49, k=2304, n=512), (256, 3, 512, (1, 7, 7))),  # half of the channels
        (Gemm(m=784, k=256, n=512), (256, 1, 512, (1, 28, 28))),  # a whole layer
    ):
        assert soma.soma_cycles(machine, 0, part) == looped(*loops)


def looped(channels: int, kernel: int, filters: int, box: tuple[int, int, int]) -> int:
    """Count by walking over tiles: a unit has 16 channels of 32 filters, 4 x 4 are shared out."""
    least = []
    images, rows, columns = box
    for a, o in (("c", "k"), ("c", "b"), ("b", "k"), ("c", "w"), ("h", "k"), ("h", "w")):
        step = {"c": 16, "k": 32, "b": 1, "h": 1, "w": 1}
        for axis in (a, o):
            step[axis] *= 4
        sizes = {"c": channels, "k": filters, "b": images, "h": rows, "w": columns}
        starts = [range(0, sizes[axis], step[axis]) for axis in sizes]
        least.append(kernel**2 * sum(1 for _ in product(*starts)))
    return min(least)


@pytest.mark.parametrize("batch", [1, 4])
def test_resnet50_is_as_soma_has_it(batch: int) -> None:
    with soma.counted():
        machine = spmopt.machine(soma.MACHINE)
        problem = spmopt.lower(spmopt.load(soma.network(batch), dtype="int8"), machine)
    assert len(problem.operations) == 53 + 16 + 3
    weights = sum(t.size_bytes for t in problem.tensors if t.kind == TensorKind.WEIGHT)
    assert weights == 25_502_912  # 25,557,032 of ResNet-50 less batch normalization and a bias
    found = cases.load(f"soma-resnet50-{batch}-8")
    own = sum(each.mappings[0].compute_cycles for each in problem.operations)
    assert own == found.figures["computing"]


@pytest.mark.parametrize("file", [file for _, file, _ in scalesim.CASES])
def test_scale_sim_layers_take_its_cycles(file: str) -> None:
    """What SCALE-Sim takes of a layer without stalls is one less than the array of the machine."""
    found = cases.load(f"scalesim-{file.removesuffix('.csv')}")
    own = {each.name: each.mappings[0].compute_cycles for each in found.problems[""].operations}
    assert {*own} == {*found.layers}
    for name, layer in found.layers.items():
        assert own[name] == ceil(layer["alone"] - layer["stalls"]) + 1, name
    for key in ("figure", "alone", "stalls", "traffic_bytes"):
        assert sum(layer[key] for layer in found.layers.values()) == found.figures[key]


@pytest.mark.parametrize("block", stream.BLOCKS)
def test_every_cycle_of_stream_is_counted_once(block: str) -> None:
    found = cases.load(f"stream-{block}")
    parts = sum(layer["cycles"] for layer in found.layers.values())
    for links, more in ((False, 0.0), (True, float(found.figures["linked"]))):
        costed = stream.costed(found, links)
        assert sum(each.mappings[0].compute_cycles for each in costed.operations) == parts + more


def test_topologies_make_layers_that_share_nothing() -> None:
    problem = scalesim.problem(scalesim.OWN / "lenet5.csv", scalesim.SMALL, 4)
    used = [t for each in problem.operations for t in each.tensors]
    assert len(used) == len({*used}) == 3 * len(problem.operations) == 12


@pytest.mark.parametrize("case", accelforge.CASES, ids=lambda case: case.name)
def test_the_layer_has_the_products_of_accelforge(case: accelforge.Case) -> None:
    """Of a decoder layer; bytes and seconds of its Einsums add up to the figures."""
    layers = cases.load(case.name).layers
    net = accelforge.problem(case)
    own = {each.name: each.mappings[0].macs for each in net.operations}
    theirs = dict.fromkeys(own, 0.0)
    for name in layers.keys() - {"I", "QK_softmax", "FFH"}:  # no products of matrices
        theirs[accelforge.PARTS.get(name, name)] += layers[name]["computes"]
    assert own == theirs
    found = cases.load(case.name).figures
    assert sum(layer["traffic_bytes"] for layer in layers.values()) == found["traffic_bytes"]
    latency_s = sum(max(layer["dram_s"], layer["on_chip_s"]) for layer in layers.values())
    assert latency_s == pytest.approx(float(found["latency_s"]), rel=1e-6)


def test_operations_take_what_einsums_take_on_chip() -> None:
    case = accelforge.CASES[-1]
    layers = cases.load(case.name).layers
    seconds = sum(layers[name]["on_chip_s"] for name in layers.keys() - {"I"})  # a copy
    own = [each.mappings[0].compute_cycles for each in accelforge.costed(case).operations]
    assert sum(own) == pytest.approx(seconds * accelforge.CLOCK_HZ, abs=len(own))
