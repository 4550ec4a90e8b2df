"""The joint model: its families of constraints, as a table of contents."""

from __future__ import annotations

from collections.abc import Callable, Collection

from formulations.joint.facts import Facts
from formulations.joint.program import Program
from formulations.joint.rows.channel import one_at_a_time, queue
from formulations.joint.rows.cuts import contiguity, kept_through, shares, stored_or_together
from formulations.joint.rows.order import modes, order
from formulations.joint.rows.space import addresses, capacity, claims, crowding, reuse
from formulations.joint.rows.stays import coverage, issue, membership, separation
from formulations.joint.rows.timing import dram_order, loads, makespan, stores, streams
from formulations.joint.rows.writeback import issued_stores, needed_stores
from formulations.joint.variables import create_program

Family = Callable[[Program], None]

FAMILIES: tuple[Family, ...] = (
    order,
    modes,
    membership,
    coverage,
    separation,
    issue,
    needed_stores,
    issued_stores,
    streams,
    loads,
    stores,
    dram_order,
    one_at_a_time,
    queue,
    capacity,
    addresses,
    claims,
    reuse,
    makespan,
    shares,
    contiguity,
    kept_through,
    stored_or_together,
)
IMPLIED: tuple[Family, ...] = (capacity, shares, contiguity, kept_through, stored_or_together)
"""Families that exclude nothing which the others do not (capacity: where there are addresses)."""
PAGED: tuple[Family, ...] = tuple(
    crowding if family is reuse else family for family in FAMILIES if family is not addresses
)
"""In place of addresses only the number of pages counts, which every paged schedule keeps."""


def build(facts: Facts, *, paged: bool = False, without: Collection[Family] = ()) -> Program:
    """The program of an instance; ``without`` some families, for tests."""
    program = create_program(facts)
    for family in PAGED if paged else FAMILIES:
        if family not in without:
            family(program)
    return program
