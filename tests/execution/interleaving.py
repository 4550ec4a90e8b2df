"""Orders in which engines, each as fast as it likes, may end their commands."""

from __future__ import annotations

import numpy as np

from spmopt.execution.commands import Program
from spmopt.execution.waits import Engine, Waits, engines


def interleaved(program: Program, rows: Waits, generator: np.random.Generator) -> list[int]:
    """A random order that keeps each engine's own, and these waits."""
    engine = engines(program)
    queues = [np.flatnonzero(engine == each).tolist() for each in Engine]
    needed: dict[int, set[int]] = {}
    for command, on in rows.rows():
        needed.setdefault(command, set()).add(on)
    done, order = set[int](), list[int]()
    speed = generator.random(len(queues)) ** 3
    while len(order) < len(engine):
        ready = [
            k for k, queue in enumerate(queues) if queue and needed.get(queue[0], set()) <= done
        ]
        assert ready, "engines wait for each other"
        chosen = max(ready, key=lambda k: float(speed[k] * generator.random()))
        done.add(queues[chosen][0])
        order.append(queues[chosen].pop(0))
    return order
