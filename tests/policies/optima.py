"""Record optima of tiny problems for ``spmopt.testing``: python -m tests.policies.optima."""

from __future__ import annotations

import json
from pathlib import Path

import spmopt
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.io.files import encode_problem
from spmopt.testing.instances import random_problem
from tests.brute_force import optimum

OPTIMA = Path(spmopt.__file__).parent / "testing" / "optima.json"


def entries(count: int = 30) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for seed in range(count):
        problem = random_problem(
            seed, max_operations=4, max_tensors=3, page_bytes=2, max_tensor_pages=2
        )
        least = {each.name: optimum(problem, each) for each in (MAKESPAN, TRAFFIC)}
        values = {name: str(best.value) for name, best in least.items() if best is not None}
        found.append({**values, "problem": encode_problem(problem)})
    return found


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries())
    OPTIMA.write_text(f"[\n{lines}\n]\n")
