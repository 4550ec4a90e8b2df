"""States of the search, and their successors: tiles leave, a product runs, and all it frees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np

from formulations.orders.products import NOTHING, Masks, Products
from spmopt.core.table import Bools, Ints

OPERANDS = 3  # tiles of a product


@dataclass(frozen=True, eq=False)
class States:
    """Operations done and useful contents of the SPM; one state a row.

    ``total`` are bytes moved, and bytes certain to be: needed and not held. ``origin``
    numbers the state before.
    """

    done: Masks
    held: Masks
    total: Ints
    origin: Ints

    def __len__(self) -> int:
        return self.done.size

    def take(self, rows: Ints | Bools) -> Self:
        """Take some rows."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def join(cls, parts: list[States]) -> States:
        """Join all rows of several."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def cheapest(self) -> States:
        """Keep of equal states the one that moves least."""
        order = np.lexsort((self.total, self.held, self.done))
        sorted_ = self.take(order)
        new = np.ones(len(self), np.bool_)
        new[1:] = (sorted_.done[1:] != sorted_.done[:-1]) | (sorted_.held[1:] != sorted_.held[:-1])
        return sorted_.take(new)


class OrderMoves:
    """The moves of a layer with an SPM of so many tiles, and the bytes still to be moved."""

    def __init__(self, products: Products, spm_tiles: int, left_to_move: Ints) -> None:
        self._products = products
        self._spm_tiles = spm_tiles
        self._left_to_move = left_to_move
        self._used = np.array(products.used, np.int64)

    def begin(self) -> States:
        """Begin with nothing done, nothing held; every tile has to come once."""
        nothing = np.zeros(1, np.uint64)
        # Every tile moves at least once: inputs come, results go.
        total = np.full(1, len(self._products.tiles), np.int64)
        return States(nothing, nothing, total, np.full(1, -1, np.int64))

    def at_least(self, states: States) -> Ints:
        """Bound the final traffic of each: tiles certain to come again, or phases of the rest."""
        left = self._left_to_move.size - 1 - bits(states.done)
        moved = states.total - self._to_come(states)
        phases: Ints = moved + self._left_to_move[left]
        np.maximum(phases, states.total + self._must_leave(states), out=phases)
        return phases

    def open_tiles(self, states: States) -> Ints:
        """Count tiles of each that were used and will be."""
        count = np.zeros(len(states), np.int64)
        for users in self._products.users:
            used = states.done & users
            count += (used != NOTHING) & (used != users)
        return count

    def after(self, states: States, below: int) -> Iterator[States]:
        """Follow each state by a product, where less than ``below`` may be moved in the end.

        As many tiles leave before it as have to, and products that it enables run at once.
        """
        yield self._run(states, forced=False)
        for _ in range(OPERANDS):
            states = self._leave(states, below)
            if not len(states):
                return
            yield self._run(states, forced=True)

    def _to_come(self, states: States) -> Ints:
        """Count tiles that are needed and not there; partial sums were stored for them."""
        count = np.zeros(len(states), np.int64)
        for tile, users in enumerate(self._products.users):
            used = states.done & users
            # A tile that is still used and not held has to come.
            comes = (used != users) & (states.held & _bit(tile) == NOTHING)
            count += comes
            if self._products.is_result[tile]:
                count += comes & (used != NOTHING)
        return count

    def _must_leave(self, states: States) -> Ints:
        """Count tiles that leave before the next product, all of which will have to come again."""
        fewest = np.full(len(states), OPERANDS, np.int64)
        for product, mask in enumerate(self._products.masks):
            missing = bits(mask & ~states.held)
            open_ = states.done & _bit(product) == NOTHING
            fewest = np.where(open_, np.minimum(fewest, missing), fewest)
        fewest -= self._room(states)
        return np.maximum(0, fewest, out=fewest)

    def _room(self, states: States) -> Ints:
        return self._spm_tiles - bits(states.held)

    def _leave(self, states: States, below: int) -> States:
        """Take one of its tiles from each state, where there is no room yet for three."""
        states = states.take(self._room(states) < OPERANDS)
        parts = []
        for tile, is_result in enumerate(self._products.is_result):
            able = (states.held & _bit(tile) != NOTHING) & (states.total + 1 + is_result < below)
            left = states.take(able)
            # A partial sum that leaves is stored, and comes again.
            total = left.total + 1 + is_result
            parts.append(States(left.done, left.held & ~_bit(tile), total, left.origin))
        return States.join(parts).cheapest()

    def _run(self, states: States, *, forced: bool) -> States:
        """Run each product in states that have room; all of it needed where tiles had to leave."""
        room, masks = self._room(states), self._products.masks
        missing = bits(masks[:, None] & ~states.held)
        # Where tiles had to leave, room that is left over was given up for nothing.
        able = (missing == room) if forced else (missing <= room)
        able &= (states.done >> np.arange(masks.size, dtype=np.uint64)[:, None]) & _bit(
            0
        ) == NOTHING
        product, row = np.nonzero(able)
        return self._ran(states.take(row), product)

    def _ran(self, states: States, product: Ints) -> States:
        """Run a product in each, and those that it frees; drop tiles that none needs any more."""
        held = states.held | self._products.masks[product]
        done = states.done | _bit(0) << product.astype(np.uint64)
        for operand in range(OPERANDS):
            tile = self._used[product, operand]
            for others, needs in self._partners[operand]:
                done |= np.where(needs[tile] & ~held == NOTHING, others[tile], NOTHING)
        for number, users in enumerate(self._products.users):
            held &= ~np.where(done & users == users, _bit(number), NOTHING)
        return States(done, held, states.total, states.origin)

    @cached_property
    def _partners(self) -> list[list[tuple[Masks, Masks]]]:
        """Of each operand's tiles the products, each as (tiles,) bits and tiles needed.

        A tile with fewer of them has its last one several times.
        """
        products = self._products
        users = [
            [product for product, tiles in enumerate(products.used) if tile in tiles]
            for tile in range(len(products.tiles))
        ]
        found = []
        for operand in range(OPERANDS):
            most = max(len(users[tile]) for tile in self._used[:, operand].tolist())
            padded = np.array([(each * most)[:most] for each in users], np.int64)
            found.append(
                [(_bit(0) << one.astype(np.uint64), products.masks[one]) for one in padded.T]
            )
        return found


def bits(masks: Masks) -> Ints:
    """Count the elements of each set."""
    return np.bitwise_count(masks).astype(np.int64)


def _bit(place: int) -> np.uint64:
    return np.uint64(1 << place)
