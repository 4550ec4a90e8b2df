"""What was recorded of peers, and what spmopt makes of the same operations on the same machine.

``recorded/NAME.json`` has what a peer said of a case (its figures, version, command and date) and
the problem that its files come to here, so that the lines of a peer that is not installed can be
scheduled all the same.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import spmopt
from results.shared.bench import Figures
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.problem import Problem
from spmopt.io.files import decode_problem, encode_problem

RECORDED = Path(__file__).parent / "recorded"
ASK = Path(__file__).parent / "ask"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What a peer said of a case.

    Attributes
    ----------
    version, command, date
        With what, how, and when it was asked.
    figures
        By name.
    layers
        Figures by layer or operation.
    problems
        The case as spmopt reads it, at costs of its own, by what is asked of it.
    """

    version: str
    command: str
    date: str
    figures: Mapping[str, float | str]
    layers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    problems: Mapping[str, Problem] = field(default_factory=dict)

    @property
    def shown(self) -> Figures:
        """Figures of a line, with where they are from."""
        return {**self.figures, "by": self.version, "date": self.date, "command": self.command}


def load(name: str) -> Recorded:
    """Read what was recorded of a case.

    Raises
    ------
    InputError
        Nothing was.
    """
    path = RECORDED / f"{name}.json"
    if not path.exists():
        raise InputError(f"{name}: nothing is recorded of it; name the peer with --peer")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    problems = {key: decode_problem(each) for key, each in found.pop("instances").items()}
    return Recorded(**found, problems=problems)


def keep(name: str, found: Recorded) -> Recorded:
    """Record what a peer said."""
    document = {
        "version": found.version,
        "command": found.command,
        "date": found.date,
        "figures": dict(found.figures),
        "layers": {key: dict(figures) for key, figures in found.layers.items()},
        "instances": {key: encode_problem(each) for key, each in found.problems.items()},
    }
    RECORDED.mkdir(exist_ok=True)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    (RECORDED / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
    return found


def today() -> str:
    """Return the date that goes with what is recorded."""
    return datetime.now(UTC).date().isoformat()


def ask(words: Sequence[str]) -> dict[str, Any]:
    """Run a script of ``ask/`` or a peer; return the JSON in its last line.

    Raises
    ------
    InputError
        It cannot be run, or failed.
    """
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"--peer: {words[0]} cannot be run ({error.strerror})") from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        raise InputError(f"--peer: {words[0]}: {reason}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def figures_of(solution: spmopt.Solution) -> Figures:
    """Return the figures of a verified schedule, its objective in cycles or bytes.

    The bound of a fused schedule is that over the fusion space.

    Raises
    ------
    ScheduleError
        There is none, or it has no bound.
    """
    result = solution.result
    bound = result.fusion_bound or result.bound
    if result.totals is None or result.value is None or bound is None or not result.verified:
        raise ScheduleError("no verified schedule with a bound within the limit")
    return {
        "ours": float(result.value),
        "bound": float(bound),
        "gap": max(0.0, float(result.value / bound - 1)),
        "cycles": result.totals.makespan_cycles,
        "traffic_bytes": result.totals.traffic_bytes,
        "operations": len(solution.problem.operations),
        "solve_s": result.solve_s,
        "verified": result.verified,
    }
