"""The same command again: under load, with other threads and hash seeds, on other Pythons."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from results.shared.bench import Bench, BenchLine, Figures

ROOT = Path(__file__).parents[2]
LIMIT_S = 120
BUSY = 4
"""Processes that do nothing but keep the machine busy."""
PYTHONS = [Path(each) for each in os.environ.get("SPMOPT_PYTHONS", "").split(":") if each]
"""Interpreters of other versions, with what the package needs."""
COMMANDS = (
    "solve resnet18 --training --batch 1 --spm 2MB -s residency",
    "solve squeezenet --batch 1 --spm 1MB -s whole",
    "solve resnet18 --training --batch 1 --spm 2MB -s whole",
    "solve resnet50 --training --batch 4 --spm 4MB --objective traffic -s whole",
    "solve squeezenet --batch 1 --spm 1MB -s contiguous",
    "solve alexnet --bank 1MB:nvsim-sram --bank 2MB:nvsim-stt --objective energy -s banks",
    "solve instances/take-turns.json --objective replay -s joint",
    "solve instances/lstm.json -s whole@pulp:highs",
    "solve ncf --training --batch 8 --spm 64KB",
    "solve alexnet --batch 4 --spm 1MB",
    "compare resnet18 --batch 1 --spm 2MB -s lru,belady,tsai,msa,autotm,static,residency",
)

LONG = (
    "solve squeezenet --batch 1 --spm 1MB -s residency --order searched",
    "solve gnmt --param steps=4 --spm 8MB -s whole",
    "solve mobilenetv2 --training --batch 4 --spm 2MB -s whole",
    "solve bert-tiny --training --batch 1 --spm 256KB -s contiguous",
)
"""Commands that take 9 to 40 s, seven times each."""


def measure(command: str, pythons: Sequence[Path] = tuple(PYTHONS)) -> Figures:
    """Run a command as it is, then in every other way, and compare all but seconds."""
    began = monotonic()
    first, seconds = _run(command), monotonic() - began
    found: dict[str, Any] = {"seconds": seconds, "differ": 0}
    ways: dict[str, tuple[list[str], Mapping[str, str], Path]] = {
        "again": ([], {}, Path(sys.executable)),
        "threads": (["--threads", "1"], {}, Path(sys.executable)),
        "hashes": ([], {"PYTHONHASHSEED": "7"}, Path(sys.executable)),
        **{f"python {number}": ([], {}, path) for number, path in enumerate(pythons)},
    }
    for words, variables, python in ways.values():
        found["differ"] += _run(command, words, variables, python) != first
    with busy():
        began = monotonic()
        found["differ"] += _run(command) != first
        found["loaded"] = monotonic() - began
    return {**found, "runs": len(ways) + 2, "pythons": 1 + len(pythons)}


@contextmanager
def busy() -> Iterator[None]:
    """Keep the machine busy."""
    with ExitStack() as stack:
        for _ in range(BUSY):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(loop.kill)
        yield


def _run(
    command: str,
    words: list[str] | None = None,
    variables: Mapping[str, str] | None = None,
    python: Path = Path(sys.executable),
) -> dict[str, Any]:
    line = [*command.split(), "--time-limit", str(LIMIT_S), "--json", *(words or [])]
    made = subprocess.run(
        [str(python), "-m", "spmopt", *line],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(variables or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(_figures(json.loads(made.stdout)))


def _figures(part: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all that does not say how long it took."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key not in ("solve_s", "cpu_s"):
                yield from _figures(value, f"{name}.{key}")
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from _figures(value, f"{name}.{number}")
    else:
        yield name, part


BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (f"`{command}`",),
            {"": partial(measure, command)},
            {"differ": "≤ 0"},
            long=command in LONG,
        )
        for command in (*COMMANDS, *LONG)
    ],
    quick=partial(measure, "solve instances/residual.json -s residency", ()),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
