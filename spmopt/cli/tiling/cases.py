"""From the options to layers, a machine and cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from spmopt.cli.inputs import require_limits
from spmopt.cli.tiling.layers import Known, Report, read_layers, sizes_of
from spmopt.cli.tiling.machine import machine_of
from spmopt.cli.tiling.options import Effort, Hardware, Layers, Tiled
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.tiles.case import OPTIMAL, WHOLE, Case
from spmopt.tiles.layer import Tile
from spmopt.tiles.run import require_small
from spmopt.tiles.tiling import HalfSpm, require_tiles


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Different layers, and cases of all of them."""

    title: str
    layers: tuple[Known, ...]
    machine: Machine
    cases: tuple[Case, ...]
    known: tuple[Known, ...]
    """Layer of each case."""
    notes: tuple[str, ...] = ()
    """What is to be said of the machine and the layers."""


def asked(
    layers: Layers,
    tiled: Tiled,
    hardware: Hardware,
    effort: Effort,
    *,
    report: Report,
    warn: Callable[[str], None],
) -> Asked:
    """Read everything; raises :class:`InputError`."""
    require_limits(effort.time_limit, effort.tolerance, jobs=effort.jobs)
    machine, notes = machine_of(hardware, tiled.element_bytes, tiled.cores)
    read = read_layers(layers, report, warn)
    folded = read.layers
    plain = partial(
        Case,
        machine=machine,
        cores=tiled.cores,
        tile=None if tiled.tile is None else Tile(**sizes_of(tiled.tile, "--tile")),
        element_bytes=tiled.element_bytes,
        add_early=tiled.add_early,
        objective=effort.objective,
        tolerance=effort.tolerance,
        time_limit_s=effort.time_limit,
    )
    try:
        cases = [
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
            for known in folded
            for replacement, partition, order in _ways(tiled)
        ]
        _require_few([case for _, case in cases])
    except InputError as error:
        raise located(error, folded) from None
    return Asked(
        title=read.title,
        layers=folded,
        machine=machine,
        cases=tuple(case for _, case in cases),
        known=tuple(known for known, _ in cases),
        notes=(*read.notes, *notes),
    )


def located(error: InputError, layers: Iterable[Known]) -> InputError:
    """Say where the layer is from that an error is about."""
    for known in layers:
        if str(error).startswith(f"layer {known.layer.name}:"):
            return InputError(f"{known.where}: {error}")
    return error


def _require_few(cases: Sequence[Case]) -> None:
    """Refuse what takes too many tile products, before any is run.

    To search all orders is refused where no layer in tiles of the size given is small enough.
    """
    errors = []
    for case in cases:
        if case.tile is None:
            room = HalfSpm(machine=case.machine, element_bytes=case.element_bytes, cores=case.cores)
            require_tiles(case.layer, room)
        elif case.order == OPTIMAL:
            try:
                require_small(case)
            except InputError as error:
                errors.append(InputError(f"layer {case.layer.name}: {error}"))
    if errors and len(errors) == sum(case.order == OPTIMAL for case in cases):
        raise errors[0]


def _ways(tiled: Tiled) -> tuple[tuple[str, str, str], ...]:
    """Replacements, partitions and orders, in all combinations."""
    return tuple(
        product(
            _names(tiled.replacement, "--replacement"),
            _names(tiled.partition or _cut(tiled.cores), "--partition"),
            _names(tiled.order, "--order"),
        )
    )


def _names(text: str, option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.replace(",", " ").split()))
    if not names:
        raise InputError(f"{option}: name at least one")
    return names


def _cut(cores: int) -> str:
    return WHOLE if cores == 1 else f"m/{cores}"
