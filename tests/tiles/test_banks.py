"""Banks of the scratchpad hold back the steps of a layer in tiles."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline_in_order
from spmopt.solving import solve
from spmopt.tiles.case import LayerCase
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import ORDERS, Order
from spmopt.tiles.partition import Partition, on_cores, scale
from spmopt.tiles.program import PassProgram
from spmopt.tiles.run import run
from spmopt.tiles.tiling import evaluate
from tests.hardware.toys import toy_memory
from tests.thorough import share
from tests.tiles.cases import ANY_ORDER, grid, machine

GRIDS = st.builds(grid, st.tuples(*[st.integers(1, 9)] * 3), st.tuples(*[st.integers(1, 4)] * 3))
SPM = machine(10**6)


@settings(max_examples=share(40), deadline=None)
@given(
    cells=GRIDS,
    order=ANY_ORDER,
    read=st.integers(1, 100),
    write=st.integers(1, 100),
    cores=st.integers(1, 3),
)
def test_a_step_ends_no_sooner_than_its_banks(
    cells: TileGrid, order: Order, read: int, write: int, cores: int
) -> None:
    products = on_cores(cells, Partition(axis="m", parts=cores), order, cores)
    free = scale(SPM, cores)
    held = scale(replace(SPM, memory=toy_memory(SPM, read, write)), cores)
    before, after = (backward(cells, on, products) for on in (free, held))
    for was, now in zip(before.operations, after.operations, strict=True):
        (mapping,), (other,) = was.mappings, now.mappings
        # A cycle is a second.
        seconds = Fraction(mapping.spm_read_bytes, cores * read) + Fraction(
            mapping.spm_write_bytes, cores * write
        )
        assert other.compute_cycles == max(mapping.compute_cycles, ceil(seconds))
        assert replace(other, compute_cycles=mapping.compute_cycles) == mapping
    computed = PassProgram.of(cells, held, products).line.compute_cycles
    assert computed.tolist() == timeline_in_order(after).compute_cycles.tolist()


def test_quick_figures_are_those_of_the_schedule() -> None:
    cells, held = grid((10, 10, 10), (4, 4, 4)), replace(SPM, memory=toy_memory(SPM, 30, 30))
    products = ORDERS["interleaved"].through(cells)
    result = solve(backward(cells, held, products), "double-buffer", Request(objective=MAKESPAN))
    assert result.totals is not None
    found = evaluate(cells, held, products)
    assert found.makespan_cycles == result.totals.makespan_cycles
    assert found.makespan_cycles > evaluate(cells, SPM, products).makespan_cycles


def test_no_order_beats_the_bound_of_any_order() -> None:
    cells = grid((10, 10, 10), (4, 4, 4))
    held = replace(SPM, memory=toy_memory(SPM, 30, 30))
    rows = [
        run(LayerCase(layer=cells.layer, machine=held, order=order, tile=cells.tile))
        for order in ORDERS
    ]
    least = min(row.cost.makespan_cycles for row in rows)
    assert max(row.cost.makespan_bound_cycles for row in rows) <= least
