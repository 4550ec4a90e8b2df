"""Compute cycles of one operation, and those of the scratchpad's banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from spmopt.core.elements import ElementKind, element_type
from spmopt.core.machine import Blocks, Machine, SystolicArray
from spmopt.graph.operators.spec import Gemm, Shape

POOLINGS = (
    *("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"),
    *("com.microsoft.QLinearAveragePool", "com.microsoft.QLinearGlobalAveragePool"),
)
"""Operators that blocks may take."""


def compute_cycles(
    machine: Machine, operations: int, gemm: Gemm | None, of_type: str | None = None
) -> int:
    """Cycles on ``machine``, rounded up: of a product by throughput or array, else by vector unit.

    Products of an element type that has a rate of its own take so much more or less than those of
    others: on an array its cycles times the rate of the array over that of the type.

    Parameters
    ----------
    operations
        Multiplications and additions, counted separately; of the vector unit
        those that others cost.
    gemm
        The matrix product, where the operation is one.
    of_type
        Element type of the product, see :func:`product_type`; None: any.
    """
    if gemm is None:
        return _ceil(operations * machine.clock_hz, machine.vector_operations_per_s)
    rate = machine.rate(of_type)
    if machine.blocks is not None:
        full = block_count(machine.blocks, gemm) * machine.blocks.macs
        return with_outputs(machine.blocks, gemm, _ceil(2 * full * machine.clock_hz, rate))
    if machine.array is None:
        return _ceil(operations * machine.clock_hz, rate)
    # The array's cycles hold at its own rate; a type of another rate scales them.
    cycles = systolic_cycles(machine.array, gemm)
    if rate == machine.operations_per_s:
        return cycles
    return _ceil(cycles * machine.array.operations_per_s(machine.clock_hz), rate)


def pooling_cycles(machine: Machine, operations: int, result: Shape) -> int | None:
    """Return the cycles of a pooling in blocks, without weights; None: blocks do not pool."""
    blocks = machine.blocks
    if blocks is None or blocks.pool is None:
        return None
    positions = prod(result) // result[1]
    steps = _ceil(operations // prod(result), blocks.pool)
    product = Gemm(m=positions, k=steps * blocks.depth, n=result[1])
    machine = replace(machine, blocks=replace(blocks, load=None))
    return compute_cycles(machine, operations, product)


def product_type(gemm: Gemm, input_types: Sequence[str]) -> str:
    """Return the element type of a product, that of its widest factor.

    Of factors that are as wide a floating-point one decides, then the first. Addends of the product
    (a bias) do not count: it is of the type of sums.

    Parameters
    ----------
    input_types
        Of all inputs of the operation, in the positions that ``gemm`` names.
    """
    factors = [element_type(input_types[place]) for place in (*gemm.a, *gemm.b)]
    # The widest factor decides, as narrower ones are converted to it on the way in.
    return max(factors, key=lambda each: (each.bits, each.kind is ElementKind.FLOAT)).name


def access_cycles(machine: Machine, read_bytes: int, write_bytes: int) -> int:
    """Return cycles in which the banks of the scratchpad deliver and accept so much, rounded up.

    ``read_bytes f / r + write_bytes f / w`` with the clock f, and the rates r and w of all banks
    together: a bank does one access at a time, so that reads and writes add up. Bytes are taken
    to be spread evenly over the banks. Concurrent transfers of the DMA channel are not added: its
    rate is that of the banks where these are slower than the DRAM. 0 where no banks are counted.
    """
    rates = None if machine.memory is None else machine.memory.rates
    if rates is None:
        return 0
    read_rate, write_rate = rates
    # Common denominator r w, so that the quotient is rounded once.
    both = read_bytes * write_rate + write_bytes * read_rate
    return _ceil(both * machine.clock_hz, read_rate * write_rate)


def block_count(blocks: Blocks, gemm: Gemm) -> int:
    """Return the blocks of a product, part-filled ones included.

    Of a window of ``e`` elements and ``c`` channels a block sums up ``depth`` channels of one
    element, or ``depth / window`` channels of ``window`` elements, whichever takes fewer blocks.
    Blocks of the same weights count as ``load`` at least.
    """
    channels = gemm.k // gemm.window
    columns, products = gemm.n, gemm.batch
    steps = _ceil(gemm.window, blocks.window)
    if products > 1 and channels == 1:
        # Depthwise: each group has its own column, so that channels cannot be summed up.
        columns, products = gemm.n * products, 1
    else:
        narrow = steps * _ceil(channels * blocks.window, blocks.depth)
        steps = min(gemm.window * _ceil(channels, blocks.depth), narrow)
    reused = max(_ceil(gemm.m, blocks.rows), blocks.load or 1)
    return products * reused * _ceil(columns, blocks.columns) * steps


def with_outputs(blocks: Blocks, gemm: Gemm, cycles: int) -> int:
    """Return the cycles of a product, results included, from those of its multiplications.

    Results leave while the next ones are summed up. So the longer of the two counts in full; of the
    shorter, the share of one filling of the accumulators, which nothing overlaps.
    """
    results = gemm.batch * gemm.m * gemm.n
    if blocks.outputs is None or blocks.accumulators is None:
        return cycles
    # In units of 1 / outputs cycles, so that the sum is rounded once: more results take no less.
    summing, last = cycles * blocks.outputs, min(blocks.accumulators, results)
    total = max(summing, results) * results + min(summing, results) * last
    return _ceil(total, blocks.outputs * results)


def systolic_cycles(array: SystolicArray, gemm: Gemm) -> int:
    """Return cycles of ``gemm`` on a systolic array of R rows and C columns (SCALE-Sim's model).

    With M, K, N the sizes of the product and cd the division rounded up:
    output stationary ``cd(M, R) cd(N, C) (K + R + C - 2)``,
    weight stationary ``cd(K, R) cd(N, C) (M + 2 R + C - 2)``,
    input stationary ``cd(K, R) cd(M, C) (N + 2 R + C - 2)``; each for every product of a batch.
    The bracket is the length of a fold and :func:`fill_cycles`. On a pipelined array this
    is added once, and a fold takes its length, or R where that is more: so long it takes to move
    results out of R rows, or required-resident operands into them.
    """
    rows, columns = array.rows, array.columns
    match array.dataflow:
        case "os":
            folds, length = _ceil(gemm.m, rows) * _ceil(gemm.n, columns), gemm.k
        case "ws":
            folds, length = _ceil(gemm.k, rows) * _ceil(gemm.n, columns), gemm.m
        case _:
            folds, length = _ceil(gemm.k, rows) * _ceil(gemm.m, columns), gemm.n
    folds *= gemm.batch
    if array.pipelined:
        return folds * max(length, rows) + fill_cycles(array)
    return folds * (length + fill_cycles(array))


def fill_cycles(array: SystolicArray) -> int:
    """Return cycles from the first input of a fold to its last result, but for its length."""
    # Skew of the inputs over rows and columns, and R more to load what is stationary.
    return array.rows + array.columns - 2 + (0 if array.dataflow == "os" else array.rows)


def _ceil(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)
