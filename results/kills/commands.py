"""The commands that are killed, on problems of a second, and what is read of what they leave."""

from __future__ import annotations

import csv
import json
import os
import pwd
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from optuna.trial import TrialState

from results.kills.kills import Campaign
from results.kills.processes import ROOT
from spmopt.io.files import read_result
from spmopt.search.storage import open_known
from spmopt.search.study import counts, look_up
from spmopt.verifier import require_legal

PROBLEM, TURNS = (ROOT / "instances" / f"{name}.json" for name in ("mlp", "take-turns"))
SPACE = """
cost = { spm_mb = 1000.0, gbps = 0.01 }
[space]
spm = "256B:1024B:256B"
bandwidth = { low = "250MB/s", high = "1750MB/s", step = "1500MB/s" }
page = "16B"
"""
POINTS = 8
SAMPLERS = ("tpe", "brute-force", "grid", "tpe")
_TIMES = ("solve_s", "seconds")
_SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _sweep(folder: Path, way: int) -> Sequence[str]:
    jobs = ("--jobs", str(1 + way // 3))
    sizes = ("--spm", "256B:1024B:256B", "-s", "belady,page,fluid")
    return ("sweep", str(PROBLEM), *sizes, *jobs, "-o", "s.csv")


def _tiles(folder: Path, way: int) -> Sequence[str]:
    orders = "sequential,interleaved,dx-major,dw-major,best"
    what = ("--gemm", "96x64x80", "--tile", "16x16x16", "--order", orders)
    more = ("--replacement", "double-buffer,lru,belady", "--jobs", str(1 + way // 3))
    return ("tiles", *what, *more, "-o", "t.csv")


def _rows(name: str) -> Any:
    def read(folder: Path) -> list[Mapping[str, str]]:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        found = csv.DictReader(line for line in lines if not line.startswith("#"))
        return [{k: v for k, v in row.items() if k not in _TIMES} for row in found]

    return read


def _same_rows(found: Sequence[Any], expected: Sequence[Any]) -> list[str]:
    """Compare rows in their order: each once, with the same values."""
    if found == expected:
        return []
    mine, other = (Counter(json.dumps(row) for row in rows) for rows in (found, expected))
    lost, more = (mine - other).total(), (other - mine).total()
    return [f"{lost} rows missing, {more} others, or another order"]


def _solve(folder: Path, way: int) -> Sequence[str]:
    scheduler = ("residency", "joint", "whole")[way % 3]
    objective = ("--objective", "replay" if scheduler == "joint" else "time")
    # All end by themselves: what a limit ends depends on the machine's speed.
    problem = TURNS if scheduler == "joint" else PROBLEM
    limits = ("--time-limit", "120", "--threads", "1")
    return ("solve", str(problem), "-s", scheduler, *objective, *limits, "-o", "r.json")


def _solution(folder: Path) -> Mapping[str, Any]:
    """Read a result and verify it."""
    stored = read_result(folder / "r.json")
    result = stored.result
    assert result.schedule is not None
    require_legal(stored.problem, result.schedule, result.totals)
    bound = None if result.bound is None else float(result.bound)
    return {"status": str(result.status), "value": float(result.value or 0), "bound": bound}


def _whole_or_none(folder: Path) -> None:
    if (folder / "r.json").exists():
        _solution(folder)


def _same_solution(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    return [] if found == expected else [f"{found}, not {expected}"]


def _bench(folder: Path, way: int) -> Sequence[str]:
    script = str(Path(__file__).with_name("tiny.py"))
    return (script, "--runs", "1", "--output", str(folder))


def _measured(folder: Path) -> Any:
    rows = json.loads((folder / "rows.json").read_text(encoding="utf-8"))["rows"]
    page = (folder / "README.md").read_text(encoding="utf-8").partition("every run")[2]
    return [rows, page]


def tune(storage: str) -> Campaign:
    """Search a space of 8 machines to its end, in a storage of a kind."""

    def words(folder: Path, way: int) -> Sequence[str]:
        (folder / "s.toml").write_text(SPACE, encoding="utf-8")
        where = storage.replace("FOLDER", folder.name)
        how = ("--sampler", SAMPLERS[way], "--workers", str(way // 3), "--no-prune")
        what = ("--space", "s.toml", "--objective", "time,cost", "-s", "belady", "--study", "k")
        what = (*what[:-1], f"k{folder.parent.name}{folder.name}") if "://" in where else what
        asked = ("--trials", "40", "--storage", where)
        return ("tune", str(PROBLEM), *what, *how, *asked)

    def read(folder: Path) -> Any:
        name = f"k{folder.parent.name}{folder.name}" if "://" in storage else "k"
        return trials_of(folder, storage, name)

    return Campaign(words=words, read=read, compare=_same_trials, ways=4)


def trials_of(folder: Path, storage: str, name: str) -> Mapping[str, Any]:
    """Read what trials of a study came to, and count those that nobody will end."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        study, _ = look_up(open_known(storage), name)
        trials = study.get_trials()
    finally:
        os.chdir(before)
    begun = (TrialState.RUNNING, TrialState.WAITING)
    return {
        "zombies": sum(trial.state in begun for trial in trials),
        "points": [
            (sorted(trial.params.items()), trial.state.name, trial.values)
            for trial in trials
            if counts(trial)
        ],
    }


def _same_trials(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """Compare the trials that count: all machines, each once, in the same order, same values."""
    said = []
    if found["zombies"]:
        said.append(f"{found['zombies']} trials are of nobody")
    points = {str(point) for point, _, _ in found["points"]}
    if not len(points) == len(found["points"]) == POINTS:
        said.append(f"{len(found['points'])} trials of {len(points)} of {POINTS} machines")
    if found["points"] != expected["points"]:
        said.append("trials are others, or in another order")
    return said


@contextmanager
def postgresql() -> Iterator[str]:
    """Start a server; give an address in it."""
    with TemporaryDirectory(prefix="kills-") as name:
        folder, user = Path(name), pwd.getpwuid(os.getuid()).pw_name
        as_other: tuple[str, ...] = ()
        if os.getuid() == 0:  # the server refuses to run as root
            user, as_other = "nobody", ("setpriv", "--reuid=nobody", "--clear-groups")
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        server, data = _SERVERS[-1], str(folder / "data")

        def run(*words: str) -> None:
            line = [*as_other, str(server / words[0]), *words[1:]]
            subprocess.run(line, check=True, cwd=folder, stdout=subprocess.DEVNULL)

        run("initdb", "-D", data, "-A", "trust", "-U", user, "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"postgresql+psycopg://{user}@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")


CAMPAIGNS: Mapping[str, Campaign] = {
    "sweep": Campaign(words=_sweep, read=_rows("s.csv"), compare=_same_rows, ways=4),
    "tune, SQLite": tune("k.db"),
    "tune, journal": tune("journal:k.log"),
    "tiles": Campaign(words=_tiles, read=_rows("t.csv"), compare=_same_rows, ways=4),
    "solve": Campaign(
        words=_solve, read=_solution, compare=_same_solution, half=_whole_or_none, ways=3
    ),
    "results": Campaign(words=_bench, read=_measured, compare=_same_rows),
}
has_postgresql = bool(_SERVERS) and shutil.which("setpriv") is not None
