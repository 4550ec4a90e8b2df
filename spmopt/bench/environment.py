"""Where and with what something is measured."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("spmopt", "numpy", "highspy", "highspy-extras", "ortools")
_ROOT = Path(__file__).parents[2]
_RESULTS = ":(exclude)results"  # tables that this program writes do not change what it measures


def environment() -> dict[str, object]:
    """Commit, package versions and computer, as JSON values."""
    return {
        "commit": _commit(),
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in PACKAGES},
        },
        "computer": {"cpu": _cpu(), "cores": _cores(), "system": platform.system()},
    }


def today() -> str:
    """Date, ISO 8601, UTC."""
    return datetime.now(UTC).date().isoformat()


def load_average() -> float | None:
    """Processes that ran in the last minute, on average; None where nobody counts them."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _commit() -> str:
    """Commit of the source; marked when files differ from it."""
    head = _git("rev-parse", "HEAD")
    if not head:
        return "unknown"
    changes = _git("status", "--porcelain", "--", ".", _RESULTS)
    return f"{head} with changes" if changes else head


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), *words], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
