"""Scratchpad reads and writes of a systolic array.

A product goes through the array in folds. An array of R rows and C columns has in each fold, by
its dataflow (the mapping of SCALE-Sim, Samajdar et al., ISPASS 2020, whose counts of SRAM accesses
these are, but for partial sums that are read back),

* output stationary: R rows of A and C columns of B, along all of k. Each column fold reads all
  of A, each row fold all of B; results are written once.
* weight stationary: R rows and C columns of B, which it reads once. Each column fold reads all of
  A; each row fold but the first reads partial sums, and each writes them.
* input stationary: R columns and C rows of A, which it reads once. Each fold along m reads all of
  B; partial sums as before.

So operands are read from the scratchpad once for each fold that needs them, not once; within a fold
the array reuses its inputs. Elements of A count as often as they stand in the matrix: of a
convolution, those of overlapping windows several times (im2col).
"""

from __future__ import annotations

from typing import NamedTuple

from spmopt.core.machine import SystolicArray
from spmopt.graph.operators.spec import Gemm


class ArrayAccesses(NamedTuple):
    """Elements that a product reads and writes.

    Attributes
    ----------
    a, b
        Read of both factors.
    partial
        Partial sums: written, and read back, beside the results.
    """

    a: int
    b: int
    partial: int


def array_accesses(array: SystolicArray, gemm: Gemm) -> ArrayAccesses:
    """Count the accesses of ``gemm``; see the module.

    With cd the division rounded up: output stationary ``a = m k cd(n, C)``, ``b = k n cd(m, R)``;
    weight stationary ``a = m k cd(n, C)``, ``b = k n``; input stationary ``a = m k``,
    ``b = k n cd(m, C)``; partial sums ``m n (cd(k, R) - 1)`` but for output stationary, which has
    none. Each for every product of a batch.
    """
    rows, columns = array.rows, array.columns
    a, b, c = gemm.m * gemm.k, gemm.k * gemm.n, gemm.m * gemm.n
    # Folds along k: each but the first reads the partial sums of the one before back.
    folds = -(-gemm.k // rows)
    match array.dataflow:
        case "os":
            # The array accumulates along all of k in place, so no partial sum leaves it.
            folds, a, b = 1, a * -(-gemm.n // columns), b * -(-gemm.m // rows)
        case "ws":
            a *= -(-gemm.n // columns)
        case _:
            # Input stationary: A (k along rows, m along columns) is read once.
            b *= -(-gemm.m // columns)
    return ArrayAccesses(gemm.batch * a, gemm.batch * b, gemm.batch * c * (folds - 1))
