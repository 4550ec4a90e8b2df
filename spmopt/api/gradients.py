"""Gradients of layers in tiles: orders compared, and replacements under them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt import __version__
from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.inputs import machine as machine_of
from spmopt.api.scheduling import require_limits
from spmopt.api.shown import Shown
from spmopt.core.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from spmopt.api.layers import LayerList, ListedLayer
    from spmopt.core.machine import Machine
    from spmopt.experiments.store import RowTable
    from spmopt.hardware.settings import Setting
    from spmopt.reporting.tables import Part
    from spmopt.tiles.case import LayerCase
    from spmopt.tiles.records import Record


@dataclass(frozen=True, eq=False, repr=False)
class GradientTable(Shown):
    """Rows of layers, each in several orders, partitions and replacements.

    Attributes
    ----------
    asked
        Title, layers, and remarks.
    machine
        All cores together.
    cases
        Every layer in every way.
    counted
        Rows that were computed, in the order of the cases.
    left
        Work left undone by an interrupt, in words; empty when complete.
    """

    asked: LayerList
    machine: Machine
    cases: Sequence[LayerCase]
    counted: Sequence[Record]
    left: str = ""

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return figures of one layer each; ``count`` says how many there are of it."""
        return [dict(each) for each in self.counted]

    def record(self) -> Mapping[str, object]:
        """Return rows and totals, as ``spmopt tiles --json``."""
        from spmopt.api.gradient_tables import sums
        from spmopt.io.codec import encode
        from spmopt.tiles.records import figures

        return {
            "title": self.asked.title,
            "machine": encode(self.machine),
            "notes": list(self.asked.notes),
            "rows": self.rows(),
            "totals": [
                {
                    **dict(zip(("order", "partition", "replacement"), each.way, strict=True)),
                    **figures(each.cost),
                    "time_s": each.time_s,
                }
                for each in (sums(self.counted) if self._is_complete else ())
            ],
        }

    @property
    def _is_complete(self) -> bool:
        return len(self.counted) == len(self.cases)

    def parts(self) -> Iterator[Part]:
        """Yield heading, table and remarks."""
        from spmopt.api.gradient_tables import remarks, sums, table
        from spmopt.reporting.headings import describe
        from spmopt.reporting.tables import Line

        if not self.counted:
            return
        asked, case = self.asked, self.cases[0]
        count = sum(known.count for known in asked.layers)
        layers = "1 layer" if count == 1 else f"{count} layers, {len(asked.layers)} sizes"
        cores = f", {case.cores} cores in lock-step" if case.cores > 1 else ""
        rate = _array_rate(self.machine, case.cores) or self.machine.operations_per_s
        machine = describe(replace(self.machine, operations_per_s=rate))
        yield Line(
            text=f"{asked.title} ({layers}) on {machine}{cores}; gradients in tiles, "
            f"elements of {case.element_bytes} bytes; objective {case.objective}"
        )
        yield Line()
        # A sum over some of the rows would look like that of the network.
        totals = sums(self.counted) if self._is_complete and len(asked.layers) > 1 else ()
        drawn = table(self.counted, totals)
        yield drawn
        yield Line()
        yield from (Line(text=line) for line in remarks(drawn, self.counted))
        without = [known.layer.name for known in asked.layers if not known.input_gradient]
        if without:
            yield Line(text=f"No dX, which nothing needs: {', '.join(without)}.")
        yield from (Line(text=f"{note[0].upper()}{note[1:]}.") for note in asked.notes)


@check
def gradients(
    source: str | None = None,
    *,
    gemm: str | None = None,
    batch: int | None = None,
    parameters: Mapping[str, int] | None = None,
    assume_pointwise: bool = False,
    operators: str | None = None,
    products_of_activations: bool = False,
    only: str | None = None,
    all_input_gradients: bool = False,
    im2col: bool = False,
    order: Sequence[str] = ("sequential", "interleaved", "dx-major", "dw-major", "algorithm-1"),
    replacement: Sequence[str] = ("double-buffer",),
    partition: Sequence[str] | None = None,
    cores: int = 1,
    tile: str | None = None,
    element_bytes: int = 4,
    add_early: bool = False,
    machine: str = "small-npu",
    settings: Mapping[str, Setting] | None = None,
    objective: str = "time",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    jobs: int | None = 1,
    output: str | Path | None = None,
    callbacks: Callbacks = QUIET,
) -> GradientTable:
    """Compare orders of a layer's gradients in tiles, and replacements under them.

    Parameters
    ----------
    source
        Network name, ONNX file, or SCALE-Sim topology (.csv). Convolutions are products of im2col
        rows, whose tiles move and hold each element of the feature map once.
    gemm
        One layer instead: X (M, K) times W (K, N).
    batch
        Batch size of all cores together; default: that of the network, 1 for a topology.
    parameters
        Parameter of the network, e.g. steps=50, or size of an open dimension of an ONNX file.
    assume_pointwise
        Treat all unknown operators of an ONNX file as point-wise.
    operators
        TOML file with a rule or a class for each unknown operator.
    products_of_activations
        Include a network's products of two activations (attention), whose gradients are both of
        activations, and named dX and dW all the same.
    only
        Layers whose names contain these words.
    all_input_gradients
        Compute dX of first layers, too.
    im2col
        Move and hold X and dX as im2col matrices: an element of the feature map as often as windows
        cover it.
    order
        Some of sequential, interleaved, dx-major, dw-major; algorithm-1, one of these four by the
        layer's shape; best of the four, by running each under the replacement; optimal, by search
        of all orders (64 tile products of 64 tiles at most), the least traffic under optimal
        residency; or one of the four with walks of its own, e.g.
        interleaved:dx=kij~:dw=kij@2x4x2/jki: loops from
        the outermost, i along M, k along K, j along N; ~ turns round at the end of a loop; @2x4x2
        goes by blocks of so many tiles along i, k, j; /jki are the loops over blocks.
    replacement
        Residency, by schedulers: double-buffer, lru, belady, residency (optimal, with a bound for
        the order), ...
    partition
        Some of none, m/2, k/2, n/2 (any number of parts, at most one a row of tiles) and best
        (under double buffering, of none, 2 and 4 parts, on several cores CORES); default: none, on
        several cores m/CORES.
    cores
        Number of cores; SPM, bandwidth and rate grow as well.
    tile
        Size of tiles; default: chosen for each layer and order, under double buffering.
    element_bytes
        Bytes of an element.
    add_early
        On several cores, add partial sums once they are complete, not at the end.
    machine
        Machine name or TOML file.
    settings
        As for :func:`spmopt.machine`, by key: spm, bandwidth, energy.mac_pj, ...
    objective
        Objective of the choices: time or traffic.
    time_limit
        Time limit of a replacement that optimizes, for each layer, in seconds.
    tolerance
        Gap at which it may stop.
    jobs
        Number of processes; None: all processors. Several need an importable script.
    output
        CSV file; rows are added as they finish, and the same command resumes.
    callbacks
        Receive progress and warnings.

    Returns
    -------
    GradientTable
        One row for each layer, order, partition and replacement.

    Raises
    ------
    InputError
        Not one source of layers, or an option that cannot be used or has no effect.
    """
    options = dict(locals())
    # These change no row: a file can be resumed with other values.
    del options["callbacks"], options["jobs"], options["output"]
    from spmopt.api.layers import read_layers, sizes_of
    from spmopt.tiles.case import LayerCase
    from spmopt.tiles.layer import Tile

    require_limits(time_limit, tolerance, jobs=jobs)
    on, notes = _machine(machine, settings or {}, cores)
    asked = read_layers(options, callbacks)
    asked = replace(asked, notes=(*asked.notes, *notes))
    plain = partial(
        LayerCase,
        machine=on,
        cores=cores,
        tile=None if tile is None else Tile(**sizes_of(tile, "tile")),
        element_bytes=element_bytes,
        add_early=add_early,
        objective=objective,
        tolerance=tolerance,
        time_limit_s=time_limit,
    )
    pairs = _pairs(plain, asked.layers, _ways(replacement, partition, order, cores))
    path = None if output is None else Path(output)
    rows, left = _compute(pairs, options, jobs, path, callbacks)
    return GradientTable(asked, on, [case for _, case in pairs], rows, left)


def _machine(
    base: str,
    settings: Mapping[str, Setting],
    cores: int,
) -> tuple[Machine, list[str]]:
    """Return all cores together, and notes.

    Raises
    ------
    InputError
        A machine, file or setting that cannot be used, or a rate that has no effect.
    """
    from spmopt.reporting.quantities import si
    from spmopt.tiles.partition import scale

    notes: list[str] = []
    machine = machine_of(base, settings=settings)
    rate = _array_rate(machine, cores)
    machine = scale(machine, cores)
    if rate is not None and cores > 1 and rate != machine.operations_per_s:
        notes.append(
            f"products take the arrays' rate, {si(rate, 'FLOP/s')}, not the machine's, "
            f"{si(machine.operations_per_s, 'FLOP/s')}"
        )
    return machine, notes


def _array_rate(machine: Machine, cores: int) -> int | None:
    """Return the rate of the arrays of all cores, which products take."""
    array = machine.array
    return None if array is None else cores * array.operations_per_s(machine.clock_hz)


def _pairs(
    plain: partial[LayerCase], layers: Sequence[ListedLayer], ways: Sequence[tuple[str, str, str]]
) -> list[tuple[ListedLayer, LayerCase]]:
    """Return every layer in every way, with its case."""
    try:
        pairs = [
            (
                known,
                plain(
                    layer=known.layer,
                    input_gradient=known.input_gradient,
                    order=order,
                    replacement=replacement,
                    partition=partition,
                ),
            )
            for known in layers
            for replacement, partition, order in ways
        ]
        _require_few([case for _, case in pairs])
    except InputError as error:
        raise _locate(error, layers) from None
    return pairs


def _locate(error: InputError, layers: Iterable[ListedLayer]) -> InputError:
    """Return the error with where the layer is from that it is about."""
    for known in layers:
        if str(error).startswith(f"layer {known.layer.name}:"):
            return InputError(f"{known.where}: {error}")
    return error


def _require_few(cases: Sequence[LayerCase]) -> None:
    """Refuse cases with too many tile products, before any is run."""
    from spmopt.tiles.tiling import HalfSpm, require_tiles

    for case in cases:
        if case.tile is None:
            half = HalfSpm(
                layer=case.layer,
                machine=case.machine,
                element_bytes=case.element_bytes,
                cores=case.cores,
            )
            # Checked here, since a layer without any tile would fail only after others have run.
            require_tiles(half)


def _ways(
    replacement: Sequence[str], partition: Sequence[str] | None, order: Sequence[str], cores: int
) -> list[tuple[str, str, str]]:
    """Return replacements, partitions and orders, in all combinations."""
    from spmopt.tiles.case import WHOLE

    cut = [WHOLE if cores == 1 else f"m/{cores}"] if partition is None else partition
    for name, given in (("replacement", replacement), ("partition", cut), ("order", order)):
        if not given:
            raise ArgumentError(name, ": name at least one")
    kept, cuts, orders = (tuple(dict.fromkeys(given)) for given in (replacement, cut, order))
    return list(product(kept, cuts, orders))


def _compute(
    pairs: Sequence[tuple[ListedLayer, LayerCase]],
    options: Mapping[str, object],
    jobs: int | None,
    output: Path | None,
    callbacks: Callbacks,
) -> tuple[list[Record], str]:
    """Compute the rows that a file does not have yet.

    Returns
    -------
    tuple
        All rows, in the order of the cases, and the work left undone by an interrupt, in words.
    """
    from spmopt.experiments.store import RowTable
    from spmopt.tiles.records import COLUMNS, about, cost_of, digest

    identity = {
        "spmopt": __version__,
        **{name: str(value) for name, value in options.items() if value is not None},
        "cases": digest(tuple(case for _, case in pairs)),
    }
    table = RowTable(output, COLUMNS, identity, decisive=("spmopt", "cases"))
    # With the count: a file of another selection of layers has other totals.
    keys = [COLUMNS.key_about(about(case, known.count)) for known, case in pairs]
    left = ""
    try:
        for row in table.rows:
            try:
                # Rows of a file are data of others: check them before any is computed.
                cost_of(row)
            except InputError as error:
                raise InputError(
                    f"{output}: row of {row['layer']}: {error}; remove the line, and it is "
                    "computed anew"
                ) from None
        missing = [pair for key, pair in zip(keys, pairs, strict=True) if key not in table]
        _add_rows(missing, table, len(pairs), jobs, callbacks)
    except callbacks.interrupts:
        left = f"{len(table)} of {len(pairs)} rows"
        if output is not None and len(table):
            left += f" are in {output}: the same command goes on from there"
    finally:
        table.close(keys)
    return table.rows, left


def _add_rows(
    pairs: Sequence[tuple[ListedLayer, LayerCase]],
    table: RowTable,
    total: int,
    jobs: int | None,
    callbacks: Callbacks,
) -> None:
    """Run cases, and add their rows as they are finished."""
    from spmopt.experiments.executors import processors
    from spmopt.experiments.queue import TaskQueue
    from spmopt.tiles.batch import run_all
    from spmopt.tiles.records import record

    def report(message: str) -> None:
        callbacks.progress(f"{len(table)} of {total} rows; {message}", len(table) / total)

    # No more processes than cases; each takes a second to start.
    jobs = max(1, min(len(pairs), processors() if jobs is None else jobs))
    with TaskQueue(jobs, report=callbacks.note) as queue:
        try:
            for some in run_all([case for _, case in pairs], queue, report):
                table.add(record(row, pairs[number][0].count) for number, row in some)
        except InputError as error:
            raise _locate(error, [known for known, _ in pairs]) from None
