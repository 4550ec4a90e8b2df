"""What one fusion plan has found is where the next begins."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from formulations.fusion.known_mappings import KnownMappings
from formulations.residency import page
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import tileable_graph_of, whole
from spmopt.core.mappings import fits_alone, fitting_mappings
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.tileable import lower_listed
from spmopt.hardware.machines import load_machine
from tests.checked import need


def test_a_tile_begins_with_the_mapping_of_an_equal_one() -> None:
    network = zoo.network("alexnet", batch=8)
    machine = replace(load_machine("small-npu"), spm_bytes=2**20)
    tileable = tileable_graph_of(lower_listed(network, machine, mapper="choose"))
    problem, origins = tileable.problem(whole(tileable))
    known = KnownMappings()
    assert known.first(problem, origins) is None
    plan = need(page.round_values(problem, Request(tolerance=0.5, time_limit_s=1.0)).residency_plan)
    # Each runs the last of its mappings that fits.
    fit, begins = fits_alone(problem), problem.operands.first_mapping
    last = [int(np.flatnonzero(fit[a:b])[-1]) for a, b in pairwise(begins.tolist())]
    steps = replace(plan.steps, mapping=np.array(last)[plan.steps.operation])
    known.learn(problem, origins, replace(plan, steps=steps))
    first = need(known.first(problem, origins))
    assert first.tolist() == last != fitting_mappings(problem).tolist()
    # Two operations in tiles: the others are as they were, and each number is of one that fits.
    rest = FusedGroup(begin=2, end=first.size)
    tiled, of = tileable.problem((FusedGroup(begin=0, end=2, micro_batches=4), rest))
    again = need(known.first(tiled, of))
    assert again[8:].tolist() == first[2:].tolist()
    assert fits_alone(tiled)[tiled.operands.first_mapping[:-1] + again].all()
