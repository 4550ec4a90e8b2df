"""The listing of a graph: operations on a machine, and how each is cut into pieces and bands."""

from __future__ import annotations

from functools import partial

from spmopt.core.graph import Graph
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.operation import Mode
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.row_windows import Rows, Window
from spmopt.core.pieces.segments import ListedOperation, PieceModes
from spmopt.graph.axes import LinkedAxes, NodeCut
from spmopt.graph.lower import Lowering, Used, lower
from spmopt.graph.naming import Names, unused
from spmopt.graph.operators.spec import Shape
from spmopt.graph.preparation import LOWERINGS
from spmopt.graph.rows import RowAxes


def lower_listed(graph: Graph, machine: Machine, *, lowering: str = LOWERINGS[0]) -> Instance:
    """Lower ``graph``, knowing how each operation is cut (:attr:`~spmopt.core.Instance.listed`).

    Raises
    ------
    InputError
        As :func:`spmopt.graph.lower.lower`.
    """
    whole = lower(graph, machine, lowering=lowering)
    listed = partial(listing, graph, lowering=lowering)
    return whole.labeled(name=whole.name, source=whole.source, listed=listed)


def listing(graph: Graph, machine: Machine, *, lowering: str = LOWERINGS[0]) -> Listing:
    """Lower ``graph`` as :func:`spmopt.graph.lower.lower` does, in any number of pieces.

    The mode of a piece is that which lowering gives to operands of its shapes and sizes. Numbers of
    pieces are the divisors of the batch; a piece of the batch, one of as many as there are, may be
    cut into bands of rows. Pieces and rows are whole bytes: what is cut within a byte, as odd
    numbers of ``int4`` are, would be less than the tensor in all.

    Raises
    ------
    InputError
        An unknown lowering or operator, a graph that computes nothing, or one none of whose
        operators can be cut.
    """
    low = Lowering(graph, machine, lowering)
    axes = LinkedAxes(low.graph)
    batch = axes.pieces(axes.batch)
    divisors = [pieces for pieces in range(1, batch + 1) if batch % pieces == 0]
    banded = BandModes(low, axes)
    names = Names()
    operations = []
    for at, node in enumerate(low.nodes):
        cut, used = axes.cut(node, axes.batch), low.used[at]
        operation = ListedOperation(
            name=unused(node.name, names),
            reads=used.reads,
            writes=used.writes,
            cut=frozenset(_tensors(used, cut, whole=False)),
            sums=frozenset(t for t in _tensors(used, cut, whole=True) if t in used.outputs),
            kind=low.kind(at),
            rows=banded.rows[at],
        )
        for pieces in divisors if cut is not None else divisors[:1]:
            if not any(low.sizes[t] % pieces for t in operation.cut):
                operation.modes[pieces] = _modes(low, at, cut, operation, pieces)
        operations.append(operation)
    return Listing(
        name=graph.name,
        machine=machine,
        tensors=low.tensors,
        operations=tuple(operations),
        batch=batch,
        along=axes.name,
        lowering=low.name,
        graph=low.graph,
        band_mode=banded,
    )


class BandModes:
    """How operations are cut into bands of rows, and the mode of each band."""

    def __init__(self, low: Lowering, axes: LinkedAxes) -> None:
        self.low, self.axes = low, axes
        rows = RowAxes(axes)
        self._batch = axes.pieces(axes.batch)
        self._known: dict[tuple[int, int, int], Mode] = {}
        self._cuts = [(axes.cut(node, axes.batch), rows.cut(node)) for node in low.nodes]
        self.rows: list[Rows | None] = []
        layouts: dict[int, object] = {}
        for (batch, cut), node, used in zip(self._cuts, low.nodes, low.used, strict=True):
            found: dict[int, Window] = {}
            values, tensors = (*node.inputs, *node.outputs), used.inputs + used.outputs
            fits = batch is not None and cut is not None
            for value, tensor, window in zip(
                values, tensors, cut.windows if cut else (), strict=fits
            ):
                if window is not None:
                    # Views of a tensor must see the same rows, and all reads of it the same window.
                    same = layouts.setdefault(tensor, rows.layout(value)) == rows.layout(value)
                    fits &= same and found.setdefault(tensor, window) == window
            fits &= used.reads != () and found.keys() >= {*used.outputs}
            # Of what is cut each row of each piece of the batch is whole bytes.
            parts = dict.fromkeys(_tensors(used, batch, whole=False), self._batch)
            parts |= {t: self._batch * window.size for t, window in found.items()}
            fits &= not any(low.sizes[t] % count for t, count in parts.items())
            self.rows.append(Rows(cut.count, found) if cut and fits else None)

    def __reduce__(self) -> tuple[object, ...]:
        return _banded, (self.low.graph, self.low.machine, self.low.name)

    def __call__(self, at: int, begin: int, end: int) -> Mode:
        """Return the mode of rows [begin, end) of one piece of the batch of an operation."""
        mode = self._known.get((at, begin, end))
        if mode is None:
            mode = self._known[at, begin, end] = self._mode(at, begin, end)
        return mode

    def _mode(self, at: int, begin: int, end: int) -> Mode:
        low, (batch, cut) = self.low, self._cuts[at]
        used, rows = low.used[at], self.rows[at]
        assert batch is not None
        assert cut is not None
        assert rows is not None
        shapes, worked, sizes = list[Shape](), list[Shape](), dict[int, int]()
        operands = zip(
            used.inputs + used.outputs,
            (shape for each in low.shapes(low.nodes[at]) for shape in each),
            batch.inputs + batch.outputs,
            cut.axes,
            strict=True,
        )
        for tensor, shape, of_batch, of_rows in operands:
            sizes[tensor] = low.sizes[tensor] // (1 if of_batch is None else self._batch)
            mine = done = _part(self._batch, shape, of_batch)
            if of_rows is not None:
                window = rows.windows[tensor]
                first, last = window.rows(begin, end, rows.count)
                sizes[tensor] = sizes[tensor] // window.size * (last - first)
                mine = (*mine[:of_rows], last - first, *mine[of_rows + 1 :])
                # Rows of a halo are read by two bands; what is done with each row is done once.
                share = end * window.size // rows.count - begin * window.size // rows.count
                done = (*mine[:of_rows], max(share, 1), *mine[of_rows + 1 :])
            shapes.append(mine)
            worked.append(done)
        inputs = len(used.inputs)
        results = tuple(shapes[inputs:])
        return low.mode(
            at,
            used,
            (tuple(shapes[:inputs]), results),
            sizes,
            worked=(tuple(worked[:inputs]), results),
        )


def _banded(graph: Graph, machine: Machine, lowering: str) -> BandModes:
    return BandModes(Lowering(graph, machine, lowering), LinkedAxes(graph))


def _tensors(used: Used, cut: NodeCut | None, *, whole: bool) -> list[int]:
    """Return the tensors that are cut, or those that stay whole to each piece."""
    if cut is None:
        return []
    places = zip(used.inputs + used.outputs, cut.inputs + cut.outputs, strict=True)
    return [tensor for tensor, axis in places if (axis is None) == whole]


def _modes(
    low: Lowering, at: int, cut: NodeCut | None, operation: ListedOperation, pieces: int
) -> PieceModes:
    """Return the modes of ``pieces`` of an operation."""
    used, shapes = low.used[at], low.shapes(low.nodes[at])
    if cut is not None and pieces > 1:
        shapes = (
            tuple(map(partial(_part, pieces), shapes[0], cut.inputs)),
            tuple(map(partial(_part, pieces), shapes[1], cut.outputs)),
        )
    sizes = {t: low.sizes[t] // (pieces if t in operation.cut else 1) for t in operation.uses(0)}
    first = low.mode(at, used, shapes, sizes)
    sums = operation.reads_of(1)[len(operation.reads) :]
    if pieces == 1 or not sums:
        return PieceModes(first, first)
    return PieceModes(first, low.mode(at, Used(used.inputs + sums, used.outputs), shapes, sizes))


def _part(pieces: int, shape: Shape, axis: int | None) -> Shape:
    """Return the shape of one of ``pieces`` along an axis."""
    if axis is None:
        return shape
    return (*shape[:axis], shape[axis] // pieces, *shape[axis + 1 :])
