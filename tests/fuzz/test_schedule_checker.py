"""The checker of schedules agrees with the verifier, on legal schedules and on changed ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.io.files import decode_schedule, encode_problem, encode_schedule
from spmopt.verifier import verify
from tests.banked import banked
from tests.fuzz.case import Random
from tests.fuzz.recipes.schedules import change
from tests.fuzz.schedule_checker import why_wrong
from tests.verifier.random_banks import random_banked
from tests.verifier.random_plans import rich_schedule

MAY_PASS = {"R0", "R6", "R10", "R12"}
"""Rules it does not know: tables that are not well formed, times, order in queues, retention."""


@pytest.mark.parametrize("seed", range(30))
def test_agrees_with_the_verifier(seed: int) -> None:
    problem, schedule = rich_schedule(seed)
    if seed % 3 == 0:
        problem = banked(seed, max_operations=8, max_tensors=5, max_mappings=2)
        schedule = random_banked(problem, np.random.default_rng(seed))
    document = {"problem": encode_problem(problem), "schedule": encode_schedule(schedule)}
    assert why_wrong(document) is None
    rng = Random(seed)
    for _ in range(8):
        changed: dict[str, Any] = json.loads(json.dumps(document))
        change(changed["schedule"], rng)
        try:
            found = verify(problem, decode_schedule(changed["schedule"])).violations
        except InputError:
            continue
        broken = {violation.rule for violation in found}
        if not broken:
            assert why_wrong(changed) is None
        elif not broken & MAY_PASS:
            assert why_wrong(changed) is not None
