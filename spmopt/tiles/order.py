"""Orders of the tile products of both gradients, and the paper's choice among them.

J. Kim et al., "Improving Data Reuse in NPU On-chip Memory with Interleaved Gradient Order for DNN
Training", MICRO 2023, sections 4.2 and 4.3. The usual walk of dX takes dY by rows, that of dW by
columns. Interleaving alternates the two product by product, each on its own walk; dX-major makes
both take dY by rows, dW-major both by columns, so that the two products of a pair read the same
tile of dY. The paper names rows and columns only: that ``ikj`` and ``jki`` are the loops is an
assumption, and any other walks may be given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from spmopt.core.table import Ints
from spmopt.tiles.grid import Grid
from spmopt.tiles.layer import Layer
from spmopt.tiles.walk import Walk

_BY_ROWS = Walk(loops="ikj")
_BY_COLUMNS = Walk(loops="jki")
_NEARLY_SQUARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The walks of dX and dW, and whether they alternate or follow each other.

    A walk of both that is the same reads each tile of dY for both gradients at once if they
    alternate.
    """

    dx: Walk
    dw: Walk
    alternate: bool

    def through(self, grid: Grid, *, input_gradient: bool = True) -> Ints:
        """Return numbers of the tile products, in the order of computing (see :class:`Grid`).

        Parameters
        ----------
        grid
            The layer in tiles, I K J products for each gradient.
        input_gradient
            Whether dX is computed; the first layer of a network needs none.

        Returns
        -------
        Ints
            (2 I K J,) a permutation, or (I K J,) the products of dW alone.
        """
        dw = self.dw.through(grid) + grid.products
        if not input_gradient:
            return dw
        both = np.stack((self.dx.through(grid), dw))
        return both.ravel(order="F" if self.alternate else "C")


ORDERS: Mapping[str, Order] = MappingProxyType(
    {
        "sequential": Order(dx=_BY_ROWS, dw=_BY_COLUMNS, alternate=False),
        "interleaved": Order(dx=_BY_ROWS, dw=_BY_COLUMNS, alternate=True),
        "dx-major": Order(dx=_BY_ROWS, dw=_BY_ROWS, alternate=True),
        "dw-major": Order(dx=_BY_COLUMNS, dw=_BY_COLUMNS, alternate=True),
    }
)
"""The orders of the paper, by name; ``sequential`` is its baseline."""


def algorithm_1(layer: Layer) -> str:
    """Choose the order by the aspect ratio of ``layer`` (Kim et al., algorithm 1).

    ``interleaved`` where ``max(M, K, N) < 4 min(M, K, N)``, else ``dw-major`` where K is the
    greatest, else ``dx-major``.
    """
    sizes = (layer.m, layer.k, layer.n)
    if max(sizes) < _NEARLY_SQUARE * min(sizes):
        return "interleaved"
    return "dw-major" if layer.k > layer.n and layer.k > layer.m else "dx-major"
