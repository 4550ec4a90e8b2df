"""What techniques cost networks, or layers: cases run together, sums of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from spmopt.studies.gradient_networks import PaperNetwork
from spmopt.studies.gradients.one_pass import (
    Cost,
    forward_pass,
    of_row,
    second_read_free,
    total,
)
from spmopt.studies.gradients.setting import Counted, Setting
from spmopt.studies.gradients.technique import BASELINE, DOUBLE_BUFFER, POTENTIAL, cases, other
from spmopt.sweep.pool import Pool
from spmopt.tiles.batch import run_all
from spmopt.tiles.case import Case
from spmopt.tiles.layer import Tile
from spmopt.tiles.run import Row

Tell = Callable[[str], None]
_Place = tuple[Setting, PaperNetwork, Counted]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A technique for the layers of a network, under a replacement."""

    setting: Setting
    network: PaperNetwork
    technique: str
    replacement: str

    @property
    def layers(self) -> tuple[Counted, ...]:
        """Layers, equal ones together."""
        return self.setting.layers(self.network)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Of each of ``asked.layers`` the best row, and what the two passes of one layer cost."""

    asked: Asked
    rows: tuple[Row, ...]
    backward: tuple[Cost, ...]
    forward: tuple[Cost, ...]

    def sums(self) -> tuple[Cost, Cost]:
        """Both passes of the whole network: backward, forward."""
        counts = [layer.count for layer in self.asked.layers]

        def whole(costs: Iterable[Cost]) -> Cost:
            return total(cost.times(n) for cost, n in zip(costs, counts, strict=True))

        return whole(self.backward), whole(self.forward)


def measure(asked: Sequence[Asked], pool: Pool, tell: Tell) -> list[Answer]:
    """Run all that is asked, the same work once; the order of the answers is that of ``asked``."""
    tiles = _given_tiles(asked, pool, tell)
    chosen = _answered(
        [replace(each, replacement=DOUBLE_BUFFER) for each in asked], tiles, pool, tell
    )
    found = _replaced(asked, chosen, pool, tell)
    costs = [[of_row(row) for row in own] for own in found]
    _free(asked, found, costs, pool)
    passes = _forward(asked, pool)
    return [
        Answer(asked=each, rows=own, backward=tuple(cost), forward=tuple(before))
        for each, own, cost, before in zip(asked, found, costs, passes, strict=True)
    ]


def _answered(
    asked: Sequence[Asked], tiles: Mapping[_Place, Tile], pool: Pool, tell: Tell
) -> list[tuple[Row, ...]]:
    """Rows under double buffering, by whose time everything is chosen."""
    groups = [
        cases(
            each.technique,
            layer,
            each.setting,
            tiles.get((each.setting, each.network, layer)),
        )
        for each in asked
        for layer in each.layers
    ]
    rows = iter(_best(groups, pool, tell))
    return [tuple(next(rows) for _ in each.layers) for each in asked]


def _replaced(
    asked: Sequence[Asked], chosen: Sequence[tuple[Row, ...]], pool: Pool, tell: Tell
) -> list[tuple[Row, ...]]:
    """The same orders, tiles and partitions under the replacements asked for."""
    groups = [
        (other(row.ran, each.replacement),)
        for each, own in zip(asked, chosen, strict=True)
        for row in own
        if each.replacement != DOUBLE_BUFFER
    ]
    rows = iter(_best(groups, pool, tell))
    return [
        own if each.replacement == DOUBLE_BUFFER else tuple(next(rows) for _ in own)
        for each, own in zip(asked, chosen, strict=True)
    ]


def _given_tiles(asked: Sequence[Asked], pool: Pool, tell: Tell) -> dict[_Place, Tile]:
    """Tiles where all techniques are to have the same."""
    places = dict.fromkeys(
        (each.setting, each.network, layer) for each in asked for layer in each.layers
    )
    square = {key: key[0].square() for key in places if key[0].tiles == "square"}
    keys = [key for key in places if key[0].tiles == "baseline"]
    groups = [cases(BASELINE, layer, setting) for setting, _, layer in keys]
    rows = _best(groups, pool, tell)
    return square | {key: row.ran.grid.tile for key, row in zip(keys, rows, strict=True)}


def _best(groups: Sequence[tuple[Case, ...]], pool: Pool, tell: Tell) -> list[Row]:
    """Of each group of cases the row that takes least time, then least traffic."""
    flat = [case for group in groups for case in group]
    rows: dict[int, Row] = {}
    for some in run_all(flat, pool, tell):
        rows.update(some)
    found, number = [], 0
    for group in groups:
        own = [rows[number + place] for place in range(len(group))]
        number += len(group)
        found.append(min(own, key=lambda r: (r.spent.makespan_cycles, r.spent.traffic_bytes)))
    return found


def _free(
    asked: Sequence[Asked], found: Sequence[tuple[Row, ...]], costs: list[list[Cost]], pool: Pool
) -> None:
    """Put the costs with a free second dY in the place of the baseline's."""
    known: dict[Case, Cost] = {}
    places = [
        (row.ran, own, place)
        for each, rows, own in zip(asked, found, costs, strict=True)
        if each.technique == POTENTIAL
        for place, row in enumerate(rows)
        if row.ran.input_gradient
    ]
    for ran in {_nameless(ran) for ran, _, _ in places}:
        pool.add((0,), partial(second_read_free, ran), partial(known.__setitem__, ran))
    _drain(pool)
    for ran, own, place in places:
        free = known[_nameless(ran)]
        before = own[place]
        own[place] = replace(
            free, compulsory_bytes=before.compulsory_bytes, bound_bytes=before.bound_bytes
        )


def _nameless(case: Case) -> Case:
    return replace(case, layer=replace(case.layer, name="layer"))


def _forward(asked: Sequence[Asked], pool: Pool) -> list[list[Cost]]:
    """Forward passes of all layers, equal ones once."""
    known: dict[tuple[object, ...], Cost] = {}
    keys = []
    for each in asked:
        setting, machine = each.setting, each.setting.hardware()
        own = []
        for counted in each.layers:
            layer = replace(counted.layer, name="layer")
            scheduler = setting.scheduler(each.replacement)
            key = (layer, machine, setting.cores, scheduler, setting.element_bytes)
            if key not in known:
                known[key] = Cost(cycles=0, traffic_bytes=0, read_bytes=0)
                task = partial(forward_pass, *key)
                pool.add((0,), task, partial(known.__setitem__, key))
            own.append(key)
        keys.append(own)
    _drain(pool)
    return [[known[key] for key in own] for own in keys]


def _drain(pool: Pool) -> None:
    for _ in pool.steps():
        pass
