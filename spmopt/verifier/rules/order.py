"""R9, R10: operations after their predecessors, commands in queue order."""

from __future__ import annotations

import numpy as np

from spmopt.verifier.arrays import BEFORE, ScheduleArrays
from spmopt.verifier.violation import Violation, find


def rule_r9(view: ScheduleArrays) -> list[Violation]:
    """R9, order: predecessors run in earlier steps."""
    operations = view.problem.operations
    order = view.timeline.order
    position = np.empty_like(order)
    position[order] = np.arange(order.size)
    counts = [len(operation.predecessors) for operation in operations]
    before = np.array([p for operation in operations for p in operation.predecessors], np.int64)
    after = np.repeat(np.arange(len(operations)), counts)
    return find(
        "R9",
        position[before] >= position[after],
        position[after],
        None,
        lambda row: (
            f"{operations[after[row]].name} runs before its predecessor "
            f"{operations[before[row]].name} (step {position[before[row]]})"
        ),
    )


def rule_r10(view: ScheduleArrays) -> list[Violation]:
    """R10, queue: first the loads of resident operands, last the stores of resident results."""
    commands, phase = view.schedule.commands, view.command_phase
    late = np.zeros(len(commands), bool)
    late[1:] = (phase[1:] < phase[:-1]) & (commands.step[1:] == commands.step[:-1])
    first = "a load of a required-resident operand must come first"
    last = "a store of a required-resident result must come last"
    return find(
        "R10",
        late,
        commands.step,
        commands.tensor,
        lambda row: (
            f"command {row}, of {view.name(int(commands.tensor[row]))}: "
            f"{first if phase[row] == BEFORE else last}"
        ),
    )
