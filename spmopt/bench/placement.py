"""Measures of placements; every placement passes the all-pairs check, outside the seconds."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from formulations.placement import place as search
from spmopt.bench.clock import timed
from spmopt.bench.suite import Case, Figures
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.placement import Buffer, Placed, Placement, require_placement
from spmopt.io.minimalloc import read_buffers, write_buffers

FILE, RANDOM = "file", "random"
"""In place of a machine, for cases that have none: buffers of a file, or drawn."""

_FOLDER = Path(__file__).parents[2] / "instances" / "minimalloc"
_LARGEST, _STEPS, _MEAN = 1 << 16, 1000, 40

Buffers = Sequence[Buffer]


def read(case: Case) -> tuple[Buffer, ...]:
    """Buffers of a published file, or 1,000 drawn at random; in all, sizes are 1 to 64 KiB.

    ``uniform``: both ends of a lifetime are. ``exponential``: its begin is uniform, its length
    exponential, so that some 40 live at once and where the load is most is a matter of luck.
    """
    if case.machine == FILE:
        return read_buffers(_FOLDER / f"{case.network}.{case.spm}.csv")
    draw = random.Random(case.parameters["seed"])
    buffers = []
    for number in range(case.parameters["buffers"]):
        lower = draw.randrange(_STEPS)
        if case.network == "uniform":
            lower, upper = sorted((lower, draw.randrange(_STEPS)))
        else:
            upper = lower + int(draw.expovariate(1 / _MEAN))
        size = draw.randint(1, _LARGEST)
        buffers.append(Buffer(name=str(number), lower=lower, upper=upper + 1, size_bytes=size))
    return tuple(buffers)


def lifetimes(instance: Instance) -> tuple[Buffer, ...]:
    """What a training step makes, from the first step that writes it to the last that uses it."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for step, operation in enumerate(instance.operations):
        for tensor in operation.writes:
            first.setdefault(tensor, step)
        for tensor in operation.tensors:
            last[tensor] = step
    tensors = instance.tensors
    return tuple(
        Buffer(
            name=tensors[k].name,
            lower=begin,
            upper=last[k] + 1,
            size_bytes=tensors[k].size_bytes,
        )
        for k, begin in first.items()
        if not tensors[k].in_dram
    )


def mirrored(buffers: Buffers, seed: int) -> tuple[Buffer, ...]:
    """Backwards in time and shuffled; as they are for seed 0."""
    if not seed:
        return tuple(buffers)
    end = max((buffer.upper for buffer in buffers), default=0)
    copies = [replace(b, lower=end - b.upper, upper=end - b.lower) for b in buffers]
    random.Random(seed).shuffle(copies)
    return tuple(copies)


def place(buffers: Buffers, *, capacity: int, limit_s: float, seed: int = 0) -> Figures:
    """Seconds to a placement under ``capacity`` bytes, those of CP-SAT's process included."""
    own = mirrored(buffers, seed)
    found, taken = timed(lambda: search.place(own, capacity, limit_s))
    if found.placement is not None:
        require_placement(own, found.placement, capacity)
    return {
        "buffers": len(own),
        "wall_s": taken.wall_s,
        "cpu_s": taken.cpu_s,
        "solved": found.placement is not None,
        "method": found.method,
    }


def minimize(buffers: Buffers, *, limit_s: float) -> Figures:
    """Least height within ``limit_s``, and how far it is from the proved bound."""
    found, taken = timed(lambda: search.minimize(buffers, None, limit_s))
    return {
        "buffers": len(buffers),
        "wall_s": taken.wall_s,
        "cpu_s": taken.cpu_s,
        "bound_bytes": found.bound_bytes,
        "method": found.method,
        **_height(buffers, found),
    }


def _height(buffers: Buffers, found: Placed) -> Figures:
    if found.placement is None:
        return {"height_bytes": None, "gap": None}
    require_placement(buffers, found.placement)
    return {"height_bytes": found.placement.height_bytes, "gap": found.gap}


def peer(
    buffers: Buffers, *, command: str, capacity: int, limit_s: float, seed: int = 0
) -> Figures:
    """CPU seconds of another program under ``capacity`` bytes, its start and files included.

    ``{file}``, ``{capacity}`` and ``{output}`` in ``command`` are replaced; what it writes to the
    output is held against the rules.
    """
    own = mirrored(buffers, seed)
    with TemporaryDirectory() as folder:
        source, output = Path(folder, "in.csv"), Path(folder, "out.csv")
        write_buffers(source, own)
        names = {"file": source, "capacity": capacity, "output": output}
        words = [word.format_map(names) for word in peer_words(command)]
        before, begun = os.times(), monotonic()
        try:
            subprocess.run(words, capture_output=True, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            pass  # a lower bound of its seconds is still of use
        except OSError as error:
            raise InputError(f"--peer: {words[0]} cannot be run ({error.strerror})") from None
        after, ended = os.times(), monotonic()
        cpu_s = after.children_user + after.children_system
        cpu_s -= before.children_user + before.children_system
        solved = output.exists() and _is_placement(own, read_buffers(output), capacity)
    return {"wall_s": ended - begun, "cpu_s": cpu_s, "solved": solved}


def peer_words(command: str) -> list[str]:
    """Split ``command``; raises :class:`InputError` if it lacks what is to be replaced."""
    words = shlex.split(command)
    for name in ("{file}", "{capacity}", "{output}"):
        if not any(name in word for word in words):
            raise InputError(f"--peer: no {name} in {command!r}; it stands for what is given")
    return words


def _is_placement(buffers: Buffers, placed: Buffers, capacity: int) -> bool:
    offsets = {buffer.name: buffer.fixed_bytes for buffer in placed}
    found = [offsets.get(buffer.name) for buffer in buffers]
    known = [offset for offset in found if offset is not None]
    if len(known) < len(buffers):
        return False
    require_placement(buffers, Placement.of(buffers, known), capacity)
    return True
