"""Reads and writes of the scratchpad by an array, against a walk over its folds."""

from __future__ import annotations

from itertools import product

import pytest

import spmopt
from spmopt.core.machine import SystolicArray
from spmopt.graph.array_accesses import array_accesses
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators.spec import Gemm
from spmopt.hardware.machines import load_machine, override


def walked(array: SystolicArray, gemm: Gemm) -> tuple[int, int, int]:
    """Count elements of A and B that folds read, and sums that are not written first."""
    sides = {
        "os": {"m": array.rows, "n": array.columns},
        "ws": {"k": array.rows, "n": array.columns},
        "is": {"k": array.rows, "m": array.columns},
    }[array.dataflow]
    sizes = {"m": gemm.m, "k": gemm.k, "n": gemm.n}
    steps = [range(0, sizes[name], sides.get(name, sizes[name])) for name in "mkn"]
    a = b = partial = 0
    held_a, held_b = set[tuple[int, int]](), set[tuple[int, int]]()
    for m, k, n in product(*steps):
        tile = {
            name: min(sides.get(name, sizes[name]), sizes[name] - start)
            for name, start in (("m", m), ("k", k), ("n", n))
        }
        if array.dataflow != "is" or (m, k) not in held_a:
            a += tile["m"] * tile["k"]
        if array.dataflow != "ws" or (k, n) not in held_b:
            b += tile["k"] * tile["n"]
        held_a.add((m, k))
        held_b.add((k, n))
        partial += tile["m"] * tile["n"] * (k > 0)
    return gemm.batch * a, gemm.batch * b, gemm.batch * partial


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
@pytest.mark.parametrize("sizes", [(4, 8, 4), (5, 9, 17), (1, 1, 1), (30, 3, 2), (7, 40, 9)])
def test_counts_are_those_of_a_walk(dataflow: str, sizes: tuple[int, int, int]) -> None:
    array = SystolicArray(rows=4, columns=8, dataflow=dataflow)
    gemm = Gemm(m=sizes[0], k=sizes[1], n=sizes[2], batch=3)
    assert array_accesses(array, gemm) == walked(array, gemm)


def lowered(reuse: bool, dataflow: str = "ws", dtype: str | None = None) -> spmopt.Problem:
    b = GraphBuilder("one")
    x, w, bias = b.input("x", (64, 100)), b.weight("w", (100, 90)), b.weight("bias", (90,))
    graph = b.finish([b.add("Relu", [b.add("Gemm", [x, w, bias])])])
    machine = override(
        load_machine("small-npu"), {"array.reuse": reuse, "array.dataflow": dataflow}
    )
    return spmopt.lower(spmopt.load(graph, dtype=dtype), machine)


@pytest.mark.parametrize("dtype", [None, "int8"])
def test_products_alone_are_read_again(dtype: str | None) -> None:
    plain, found = lowered(False, dtype=dtype), lowered(True, dtype=dtype)
    size, wide = (4, 4) if dtype is None else (1, 4)
    gemm, relu = (operation.mappings[0] for operation in found.operations)
    partial = 64 * 90 * 2 * wide  # k = 100 in 3 folds of 45 rows; sums are of 32 bits
    assert gemm.spm_read_bytes == size * (2 * 64 * 100 + 100 * 90) + 90 * wide + partial
    assert gemm.spm_write_bytes == size * 64 * 90 + partial
    assert relu == plain.operations[1].mappings[0]
    once = plain.operations[0].mappings[0]
    assert once.spm_read_bytes == size * (64 * 100 + 100 * 90) + 90 * wide
    assert (gemm.compute_cycles, gemm.operands) == (once.compute_cycles, once.operands)


def test_energy_counts_them() -> None:
    joules = []
    for problem in (lowered(False), lowered(True)):
        result = spmopt.solve(problem, "residency", objective="energy").result
        assert result.totals is not None
        assert result.value is not None
        assert result.bound is not None
        assert result.bound <= result.value
        joules.append((float(result.value), result.totals.spm_read_bytes))
    each = load_machine("small-npu").energy.spm_read_pj_per_byte
    more = joules[1][1] - joules[0][1]
    written = 64 * 90 * 2 * 4
    assert joules[1][0] - joules[0][0] == pytest.approx((more + written) * each * 1e-12)
