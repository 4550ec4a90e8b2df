"""Commands that are killed at random instants, run again, and held against undisturbed runs."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from results.kills.processes import TARGETS, Command, apart, load_for

_MOST = 5
"""Kills of one command, before it is let to end."""
_AS_USERS = 0.1
"""Part of the commands that begin with the start of Python; the others have that behind them."""
REPLACED = "died and was replaced"


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """A command, and what must come of it.

    Attributes
    ----------
    words
        The command in a folder, in one of ``ways``.
    read
        What it has left there, to be compared; raises whatever it likes where that cannot be read.
    compare
        Says what of a result is not as in the undisturbed one.
    half
        Looks at what a killed one has left; raises where that is worse than nothing.
    """

    words: Callable[[Path, int], Sequence[str]]
    read: Callable[[Path], Any]
    compare: Callable[[Any, Any], Sequence[str]]
    half: Callable[[Path], object] | None = None
    ways: int = 1


def measure(campaign: Campaign, seed: int, kills: int) -> Mapping[str, Any]:
    """Kill a command ``kills`` times in all; count what is wrong."""
    counted, told = Counter[str](), list[str]()
    with TemporaryDirectory(prefix="kills-") as name:
        killer = _Killer(campaign, seed, Path(name) / "whole")
        while counted["kills"] < kills:
            folder = Path(name) / f"{counted['series']}"
            counted["series"] += 1
            counted.update(killer.series(folder, min(_MOST, kills - counted["kills"])))
            told += campaign.compare(apart(campaign.read, folder), killer.undisturbed)
            files, expected = _kinds(folder), _kinds(killer.whole)
            counted["other_files"] += ((files - expected) + (expected - files)).total()
    for line in told:
        print(line, file=sys.stderr)
    names = ("kills", "series", "noted", "left_behind", "other_files", "status")
    return {**{key: counted[key] for key in names}, "differing": len(told)}


class _Killer:
    """Kills commands in one of their ways, whose undisturbed run is in the folder ``whole``."""

    def __init__(self, campaign: Campaign, seed: int, whole: Path) -> None:
        self.campaign, self.whole = campaign, whole
        self._draw, self._way = random.Random(seed), seed % campaign.ways
        loading = whole.with_name("loading")
        loading.mkdir()
        load_for(campaign.words(loading, self._way), loading)
        whole.mkdir()
        began = monotonic()
        command = Command(campaign.words(whole, self._way), whole)
        if command.wait():
            raise RuntimeError(f"undisturbed it fails: {command.said}")
        self._seconds = monotonic() - began
        command.left()
        self.undisturbed = apart(campaign.read, whole)

    def series(self, folder: Path, most: int) -> Counter[str]:
        """Kill a command a few times, and then let it end."""
        folder.mkdir()
        draw, found, planned = self._draw, Counter[str](), self._draw.randint(1, most)
        while True:
            words, as_users = self.campaign.words(folder, self._way), draw.random() < _AS_USERS
            command = Command(words, folder, as_users=as_users)
            killed, target = False, draw.choice(TARGETS)
            if found["kills"] < planned:
                sleep(draw.uniform(0.0, self._seconds + as_users))
                killed = command.kill(target, draw)
                found["kills"] += killed
            status = command.wait()
            found["left_behind"] += command.left()
            found["noted"] += REPLACED in command.said
            if killed and target != "child":
                if self.campaign.half is not None:
                    apart(self.campaign.half, folder)
                continue
            if status:
                found["status"] += 1
                print(f"status {status}: {command.said[-1500:]}", file=sys.stderr)
            return found


def _kinds(folder: Path) -> Counter[str]:
    """Count all files by their names, hidden ones too, whatever numbers these have."""
    files = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return Counter(re.sub(r"[0-9]+", "0", name) for name in files)
