"""Asks Deeploy how it tiles one of its test networks; for a Python that has what Deeploy needs.

``python ask_deeploy.py SOURCES NETWORK L1 FOLDER``: SOURCES is a checkout of Deeploy with its
tests, NETWORK a folder of them, L1 the bytes of the innermost memory. Its generator runs for the
platform Siracusa; what its tiles move between L2 and L1 is counted from its tiling schedules, a
tile that is the same as the one before as moved once. Nothing of spmopt is imported here.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from importlib.metadata import version
from math import prod
from pathlib import Path
from time import monotonic
from typing import Any

FOUND: dict[str, dict[str, float]] = {}


def moved(steps: Any, context: Any, names: Any) -> dict[str, float]:
    """Return bytes by operand of a schedule's rectangles."""
    found: dict[str, float] = {}
    before: dict[str, Any] = {}
    for step in steps:
        for key, rectangle in step.items():
            box = (rectangle.offset, rectangle.dims)
            if before.get(key) != box:
                width = context.lookup(names[key])._type.referencedType.typeWidth / 8
                found[key] = found.get(key, 0) + prod(rectangle.dims) * width
            before[key] = box
    return found


def watch() -> None:
    """Note what every tiling schedule moves."""
    from Deeploy.TilingExtension.TileConstraint import TileConstraint  # noqa: PLC0415

    wrap = TileConstraint.wrapTilingSolution.__func__

    def wrapped(cls: Any, solution: Any, level: str, context: Any, names: Any) -> Any:
        replacement, schedules = wrap(cls, solution, level, context, names)
        if level == "L1":
            figures: dict[str, float] = {"tiles": 0}
            for schedule in schedules:
                figures["tiles"] += len(schedule.outputLoadSchedule)
                for steps in (schedule.inputLoadSchedule, schedule.outputLoadSchedule):
                    for key, size in moved(steps, context, names).items():
                        figures[key] = figures.get(key, 0) + size
            FOUND[names["nodeName"]] = figures
        return replacement, schedules

    TileConstraint.wrapTilingSolution = classmethod(wrapped)


def main() -> None:
    """Do what the command line says."""
    sources, network, size, folder = sys.argv[1:]
    tests = Path(sources, "DeeployTest")
    sys.path[0:1] = [str(sources), str(tests)]
    os.chdir(tests)
    watch()
    # Addresses are Deeploy's own; MiniMalloc, its default, is another program.
    sys.argv = [
        *("testMVP.py", "-p", "Siracusa", "-t", network, "-d", folder),
        *("--l1", size, "--defaultMemLevel", "L2", "--memAllocStrategy", "TetrisRandom"),
    ]
    begun, out = monotonic(), sys.stdout
    sys.stdout = sys.stderr
    runpy.run_path(str(tests / "testMVP.py"), run_name="__main__")
    sys.stdout = out
    answer = {
        "version": f"Deeploy {version('deeploy-pulp')}",
        "seconds": monotonic() - begun,
        "layers": FOUND,
    }
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
