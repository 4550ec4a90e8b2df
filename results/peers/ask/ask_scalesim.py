"""Asks SCALE-Sim what a topology takes; for a Python that has scalesim (and numpy below 2).

``python ask_scalesim.py TOPOLOGY CONFIG FOLDER [gemm]`` runs it in FOLDER and prints the sums over
layers of its reports as JSON: cycles with and without the first loads of each layer, stalls, and
words over the DRAM boundary. Nothing of spmopt is imported here.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from importlib.metadata import version
from pathlib import Path
from time import monotonic

from scalesim.scale_sim import scalesim


def sums(path: Path) -> dict[str, float]:
    """Return each column of a report, added up."""
    found: dict[str, float] = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, skipinitialspace=True):
            for name, value in row.items():
                if name and value:
                    found[name.strip()] = found.get(name.strip(), 0.0) + float(value)
    return found


def main() -> None:
    """Do what the command line says."""
    topology, config, folder, *gemm = sys.argv[1:]
    begun = monotonic()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run = scalesim(
            save_disk_space=True,
            verbose=False,
            config=config,
            topology=topology,
            layout=topology,  # read only for layouts of one's own
            input_type_gemm=bool(gemm),
        )
        run.run_scale(top_path=folder)
    (reports,) = {path.parent for path in Path(folder).rglob("COMPUTE_REPORT.csv")}
    found = sums(reports / "COMPUTE_REPORT.csv") | sums(reports / "DETAILED_ACCESS_REPORT.csv")
    words = ("DRAM IFMAP Reads", "DRAM Filter Reads", "DRAM OFMAP Writes")
    answer = {
        "version": f"SCALE-Sim {version('scalesim')}",
        "figure": found["Total Cycles (incl. prefetch)"],
        "alone": found["Total Cycles"],
        "stalls": found["Stall Cycles"],
        "traffic_bytes": sum(found[name] for name in words),
        "seconds": monotonic() - begun,
    }
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
