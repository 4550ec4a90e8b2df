"""One policy, operator, machine, technology and objective: what a package may add to spmopt."""

from __future__ import annotations

from fractions import Fraction

from spmopt.core.objective import Objective
from spmopt.core.problem import Problem


def hottest(problem: Problem) -> list[tuple[str, int, int]]:
    """Keep the one tensor that most operations use, from its first use to its last."""
    uses: dict[int, list[int]] = {}
    for step, operation in enumerate(problem.operations):
        for tensor in operation.tensors:
            uses.setdefault(tensor, []).append(step)
    machine, needed = problem.machine, 0
    for operation in problem.operations:  # room that any operation may need for itself
        sizes = [problem.tensors[tensor].size_bytes for tensor in operation.tensors]
        scratch = max(mapping.scratch_bytes for mapping in operation.mappings)
        needed = max(needed, sum(-(-size // machine.page_bytes) for size in (*sizes, scratch)))
    free = machine.spm_pages - needed
    kept = [
        (len(steps), tensor)
        for tensor, steps in uses.items()
        if -(-problem.tensors[tensor].size_bytes // machine.page_bytes) <= free
    ]
    if not kept:
        return []
    _, tensor = max(kept)
    steps = uses[tensor]
    return [(problem.tensors[tensor].name, steps[0], steps[-1] + 1)]


SNAKE = {"operations": 4, "gradient": {"reads": ["x0"], "operations": 6}}
"""x + sin(a x)^2 / a, and its gradient, which reads x."""

TINY_NPU = {
    "spm": "256KiB",
    "bandwidth": "8GB/s",
    "throughput": "256GFLOP/s",
    "clock": "1GHz",
    "source": "an example",
}

MY_RAM = {
    "cell": "SRAM",
    "source": "an example",
    "access": "32B",
    "between": "nothing",
    "point": [
        {
            "capacity": "256KiB",
            "read_latency": "1ns",
            "write_latency": "1ns",
            "read_energy": "2pJ",
            "write_energy": "3pJ",
            "leakage": "1mW",
            "area": "0.2mm2",
        }
    ],
}

READS = Objective(name="reads", unit="bytes", dram_in_byte=Fraction(1))
