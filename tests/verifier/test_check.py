"""An illegal schedule as an error: the first violations, and how many more there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spmopt.core.errors import ScheduleError
from spmopt.verifier import require_legal, verify
from tests.verifier.hand_made import fetches


@pytest.mark.parametrize(("commands", "more"), [(0, "; and 2 more"), (1, "; and 1 more"), (2, "")])
def test_the_error_shows_three_violations(commands: int, more: str) -> None:
    """Of five that break a rule where each of five commands is left out."""
    case = fetches()
    part = case.schedule.commands.take(np.arange(commands))
    schedule = replace(case.schedule, commands=part)
    violations = verify(case.problem, schedule).violations
    assert len(violations) == 5 - commands
    with pytest.raises(ScheduleError) as refused:
        require_legal(case.problem, schedule)
    shown = "; ".join(str(violation) for violation in violations[:3])
    assert str(refused.value) == f"schedule of {case.problem.name} is not legal: {shown}{more}"


def test_a_legal_schedule_is_reported() -> None:
    case = fetches()
    assert require_legal(case.problem, case.schedule, case.totals).totals == case.totals
