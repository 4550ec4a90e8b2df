"""R9, R10: operations after their predecessors, commands in queue order."""

from __future__ import annotations

import numpy as np

from spmopt.verifier.arrays import BEFORE, ScheduleArrays
from spmopt.verifier.violation import Violation, found


def rule_r9(view: ScheduleArrays) -> list[Violation]:
    """R9, order: predecessors run in earlier steps."""
    operations = view.instance.operations
    order = view.timeline.order
    position = np.empty_like(order)
    position[order] = np.arange(order.size)
    counts = [len(operation.predecessors) for operation in operations]
    before = np.array([p for operation in operations for p in operation.predecessors], np.int64)
    after = np.repeat(np.arange(len(operations)), counts)
    return found(
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
    """R10, queue: first the loads of stationary operands, last the stores of stationary results."""
    commands, phase = view.schedule.commands, view.command_phase
    late = np.zeros(len(commands), bool)
    late[1:] = (phase[1:] < phase[:-1]) & (commands.step[1:] == commands.step[:-1])
    first = "a load of a stationary operand must come first"
    last = "a store of a stationary result must come last"
    return found(
        "R10",
        late,
        commands.step,
        commands.tensor,
        lambda row: (
            f"command {row}, of {view.name(int(commands.tensor[row]))}: "
            f"{first if phase[row] == BEFORE else last}"
        ),
    )
