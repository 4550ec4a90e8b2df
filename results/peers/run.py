"""Other schedulers and simulators on their own models, beside verified schedules and bounds."""

from __future__ import annotations

import shlex
import sys

from results.peers import accelforge, deeploy, scalesim, soma, stream, zigzag
from results.shared.bench import Bench, BenchLine, Figures
from spmopt.core.errors import InputError

PEERS = (
    *("zigzag", "scalesim", "soma", "stream", "deeploy", "deeploy-sources"),
    *("accelforge", "accelforge-sources"),
)
"""Interpreters that can import a peer, a program, folders of sources."""


def programs(command: str) -> dict[str, str]:
    """Return what runs each peer, of ``NAME=PROGRAM`` words.

    Raises
    ------
    InputError
        An unknown peer, or a word without a program.
    """
    found = {}
    for word in shlex.split(command):
        name, _, program = word.partition("=")
        if name not in PEERS or not program:
            raise InputError(f"--peer: {word!r}: write NAME=PROGRAM of {', '.join(PEERS)}")
        found[name] = program
    return found


def lines(command: str = "") -> list[BenchLine]:
    """List all cases; those of peers that ``command`` names are asked, others were recorded."""
    given = programs(command)
    return [
        *zigzag.lines(given.get("zigzag")),
        *scalesim.lines(given.get("scalesim")),
        *soma.lines(given.get("soma")),
        *stream.lines(given.get("stream")),
        *deeploy.lines(given.get("deeploy"), given.get("deeploy-sources")),
        *accelforge.lines(given.get("accelforge"), given.get("accelforge-sources")),
    ]


def compared(figures: Figures) -> Figures:
    """Return how much more than the schedule, and than the bound, the peer takes."""
    theirs, found = figures.get("peer.figure"), {}
    for name, value in (("over", figures.get("ours")), ("over_bound", figures.get("bound"))):
        if theirs and value:
            found[name] = theirs / value - 1
    return found


def quick() -> Figures:
    """Schedule a recorded case."""
    return zigzag.ours(zigzag.CASES[0], "")


BENCH = Bench(file=__file__, lines=lines(), derive=compared, peered=lines, quick=quick)

if __name__ == "__main__":
    sys.exit(BENCH.main())
