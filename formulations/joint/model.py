"""The joint model: its families of constraints, as a table of contents."""

from __future__ import annotations

from collections.abc import Callable, Collection

from formulations.joint.facts import JointFacts
from formulations.joint.implied_rows import contiguity, keep_through, shares, store_or_join
from formulations.joint.program import JointProgram
from formulations.joint.residency_rows import (
    addresses,
    capacity,
    claims,
    coverage,
    crowding,
    issue,
    mappings,
    membership,
    reuse,
    separation,
    stores_issued,
    stores_needed,
)
from formulations.joint.time_rows import (
    computation,
    dram_order,
    loads,
    makespan,
    one_at_a_time,
    order,
    positions,
    queue,
    stores,
    streams,
)
from formulations.joint.variables import create_program

Family = Callable[[JointProgram], None]

FAMILIES: tuple[Family, ...] = (
    positions,
    order,
    mappings,
    computation,
    membership,
    coverage,
    separation,
    issue,
    stores_needed,
    stores_issued,
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
    keep_through,
    store_or_join,
)
PAGED: tuple[Family, ...] = tuple(
    crowding if family is reuse else family for family in FAMILIES if family is not addresses
)
"""In place of addresses only the number of pages counts, which every paged schedule keeps."""


def build(
    facts: JointFacts, *, paged: bool = False, without: Collection[Family] = ()
) -> JointProgram:
    """The program of a problem; ``without`` some families, for tests."""
    program = create_program(facts)
    for family in PAGED if paged else FAMILIES:
        if family not in without:
            family(program)
    return program
