"""Placement of buffers with known lifetimes: seconds beside a peer's, least heights."""

from __future__ import annotations

import random
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from formulations.placement import place as search
from results.shared.bench import Bench, BenchLine, Case, Figures, summed, timed
from results.shared.page import ROOT
from spmopt.core.errors import InputError
from spmopt.core.placement import Buffer, Placement, require_placement
from spmopt.core.scheduler import Request
from spmopt.io.minimalloc import read_buffers, write_buffers

CAPACITY = 1048576
PROBLEMS = "ABCDEFGHIJK"
HEIGHTS = {"C": 1039360, "D": 1032192, "J": 1033216}  # to reach; of all others the capacity
RATIOS = "≤ 1.5", "≤ 0.25"  # to a peer: of one problem, and of all
GRAPHS = (
    ("transformer", {"layers": 7}, "1,025 buffers", 0.5),
    ("bert-large", {"layers": 17}, "1,032 buffers", 0.5),
    ("transformer", {"layers": 35}, "5,057 buffers", 10.0),
    ("gnmt", {"steps": 12}, "5,309 buffers", 10.0),
)
Buffers = Sequence[Buffer]
Source = Callable[[], Buffers]


def published(name: str) -> Buffers:
    """Read buffers of a published file; sizes are 1 to 64 KiB."""
    return read_buffers(ROOT / "instances" / "minimalloc" / f"{name}.{CAPACITY}.csv")


def drawn(way: str, seed: int, count: int = 1000) -> Buffers:
    """Draw buffers at random, of sizes as published.

    ``uniform``: both ends of a lifetime are. ``exponential``: its begin is uniform, its length
    exponential, so that some 40 live at once and where the load is most is a matter of luck.
    """
    draw, buffers = random.Random(seed), []
    for number in range(count):
        lower = draw.randrange(1000)
        if way == "uniform":
            lower, upper = sorted((lower, draw.randrange(1000)))
        else:
            upper = lower + int(draw.expovariate(1 / 40))
        size = draw.randint(1, 1 << 16)
        buffers.append(Buffer(name=str(number), lower=lower, upper=upper + 1, size_bytes=size))
    return buffers


def lifetimes(case: Case) -> Buffers:
    """Return what a training step makes, from its first write to its last use."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    problem = case.problem()
    for step, operation in enumerate(problem.operations):
        for tensor in operation.writes:
            first.setdefault(tensor, step)
        last |= dict.fromkeys(operation.tensors, step)
    made = [(problem.tensors[k], k) for k in first if not problem.tensors[k].in_dram]
    return [
        Buffer(name=t.name, lower=first[k], upper=last[k] + 1, size_bytes=t.size_bytes)
        for t, k in made
    ]


def mirrored(buffers: Buffers, seed: int) -> Buffers:
    """Turn buffers backwards in time and shuffle them; not for seed 0."""
    if not seed:
        return buffers
    end = max((buffer.upper for buffer in buffers), default=0)
    copies = [replace(b, lower=end - b.upper, upper=end - b.lower) for b in buffers]
    random.Random(seed).shuffle(copies)
    return copies


def place(source: Source, seed: int, capacity: int = CAPACITY) -> Figures:
    """Measure a placement under ``capacity`` bytes, CP-SAT's process included."""
    own = mirrored(source(), seed)
    found, taken = timed(lambda: search.place(own, capacity, Request(time_limit_s=300.0)))
    if found.placement is not None:
        require_placement(own, found.placement, capacity)
    solved = found.placement is not None
    return {"buffers": len(own), **taken, "solved": solved, "method": found.method}


def minimize(source: Source, limit_s: float) -> Figures:
    """Measure the least height within ``limit_s``, and how far it is from the proved bound."""
    buffers = source()
    found, taken = timed(
        lambda: search.place(buffers, None, Request(time_limit_s=limit_s), lowest=True)
    )
    if found.placement is not None:
        require_placement(buffers, found.placement)
    return {
        "buffers": len(buffers),
        **taken,
        "bound_bytes": found.bound_bytes,
        "method": found.method,
        "height_bytes": found.placement and found.placement.height_bytes,
        "gap": found.placement and found.gap,
    }


def peer(source: Source, seed: int, command: str, capacity: int = CAPACITY) -> Figures:
    """Measure another program under ``capacity`` bytes, its start and files included.

    ``{file}``, ``{capacity}`` and ``{output}`` in ``command`` are replaced; what it writes to the
    output is compared with the rules.
    """
    own = mirrored(source(), seed)
    with TemporaryDirectory() as folder:
        file, output = Path(folder, "in.csv"), Path(folder, "out.csv")
        write_buffers(file, own)
        names = {"file": file, "capacity": capacity, "output": output}
        words = [word.format_map(names) for word in peer_words(command)]
        before, begun = getrusage(RUSAGE_CHILDREN), monotonic()
        try:
            subprocess.run(words, capture_output=True, timeout=300.0, check=False)
        except subprocess.TimeoutExpired:
            pass  # a lower bound of its seconds is still of use
        except OSError as error:
            raise InputError(f"--peer: {words[0]} cannot be run ({error.strerror})") from None
        after, ended = getrusage(RUSAGE_CHILDREN), monotonic()
        solved = output.exists() and is_placement(own, read_buffers(output), capacity)
    spent = [usage.ru_utime + usage.ru_stime for usage in (before, after)]
    return {"wall_s": ended - begun, "cpu_s": spent[1] - spent[0], "solved": solved}


def peer_words(command: str) -> list[str]:
    """Split ``command``; raises InputError if it lacks what is to be replaced."""
    words = shlex.split(command)
    for name in ("{file}", "{capacity}", "{output}"):
        if not any(name in word for word in words):
            raise InputError(f"--peer: no {name} in {command!r}; it stands for what is given")
    return words


def is_placement(buffers: Buffers, placed: Buffers, capacity: int) -> bool:
    """Return whether all have offsets; raises ScheduleError where these break a rule."""
    offsets = {buffer.name: buffer.fixed_bytes for buffer in placed}
    found = [offsets.get(buffer.name) for buffer in buffers]
    known = [offset for offset in found if offset is not None]
    if len(known) == len(buffers):
        require_placement(buffers, Placement.of(buffers, known), capacity)
    return len(known) == len(buffers)


def lines(command: str | None = None) -> list[BenchLine]:
    """List published problems, copies, least heights, training graphs, random lifetimes."""
    if command is not None:
        peer_words(command)
    copies = {f"seed {seed}": seed for seed in (1, 2, 3, 4, 5)}
    return [
        *placements("place", {"": 0}, command),
        *placements("place, mirrored and shuffled", copies, command),
        *(
            BenchLine((f"minimize, {what}", of), {"": partial(minimize, source, limit_s)}, targets)
            for what, of, source, limit_s, targets in heights()
        ),
    ]


def placements(what: str, seeds: Mapping[str, int], command: str | None) -> list[BenchLine]:
    """List published problems in copies by label, beside a peer if there is one, and sums."""
    one, every = ({"solved": "≥ 1"} | ({"ratio": r} if command else {}) for r in RATIOS)
    found = []
    for name in PROBLEMS:
        source, parts = partial(published, name), dict[str, Callable[..., Figures]]()
        parts |= {label: partial(place, source, seed) for label, seed in seeds.items()}
        for label, seed in seeds.items() if command else ():
            parts[f"peer {label}".strip()] = partial(peer, source, seed, str(command))
        found.append(BenchLine((what, name), parts, one))
    return [*found, BenchLine((what, "all"), {}, every, tuple(line.name for line in found))]


def heights() -> Iterator[tuple[str, str, Source, float, Mapping[str, str]]]:
    """List what is placed as low as can be: kind, name, buffers, seconds, targets."""
    for name in PROBLEMS:
        targets = {"height_bytes": f"≤ {HEIGHTS.get(name, CAPACITY)}"}
        proved = {} if name in "DJ" else {"gap": "≤ 0"}
        yield "60 s", name, partial(published, name), 60.0, targets | proved
    for name in "DJ":
        yield "5 s", name, partial(published, name), 5.0, {}
    for network, parameters, count, limit_s in GRAPHS:
        case = Case(network, "24MB", parameters)
        about = "training graph", f"{case.title}: {count}", partial(lifetimes, case)
        yield *about, 0.9 * limit_s, {"wall_s": f"≤ {limit_s}", "gap": "≤ 0"}
    for way in ("uniform", "exponential"):
        for seed in (0, 1, 2):
            about = "random", f"{way}, seed {seed}", partial(drawn, way, seed)
            yield *about, 0.95, {"wall_s": "≤ 1", "gap": "≤ 0.01"}


def sums(figures: Figures) -> Figures:
    """Sum over copies, and compare CPU seconds to the peer's."""
    found: dict[str, Any] = {}
    for label, prefix in (("seed ", ""), ("peer seed ", "peer.")):
        for name in ("cpu_s", "wall_s", "solved"):
            own = [v for k, v in figures.items() if k.startswith(label) and k.endswith(f".{name}")]
            found |= {f"{prefix}{name}": summed(own)} if own else {}
    own_s, other_s = (found.get(name, figures.get(name)) for name in ("cpu_s", "peer.cpu_s"))
    if isinstance(own_s, float) and isinstance(other_s, float) and other_s:
        found["ratio"] = own_s / other_s
    return found


BENCH = Bench(
    file=__file__,
    lines=lines(),
    derive=sums,
    peered=lines,
    quick=partial(minimize, partial(drawn, "uniform", 0, 50), 0.2),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
