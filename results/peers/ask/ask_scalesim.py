"""Asks SCALE-Sim what a topology takes; for a Python that has scalesim (numpy 2.4 fails).

``python ask_scalesim.py TOPOLOGY CONFIG FOLDER LAYERS [gemm]`` runs as many of the first layers
in FOLDER, one by one, those of the same sizes once, and prints as JSON what its reports say of
each and their sums: cycles with and without the first loads of each layer, stalls, and words over
the DRAM boundary. Nothing of spmopt is imported here.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from time import monotonic

from scalesim.scale_sim import scalesim

REPORTS = ("COMPUTE_REPORT.csv", "DETAILED_ACCESS_REPORT.csv")
WORDS = ("DRAM IFMAP Reads", "DRAM Filter Reads", "DRAM OFMAP Writes")


def run(topology: Path, config: str, folder: Path, gemm: bool) -> dict[str, float]:
    """Return the figures of a topology of one layer."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        simulation = scalesim(
            save_disk_space=True,
            verbose=False,
            config=config,
            topology=str(topology),
            layout=str(topology),  # read only for layouts of one's own
            input_type_gemm=gemm,
        )
        simulation.run_scale(top_path=str(folder))
    (reports,) = {path.parent for path in folder.rglob(REPORTS[0])}
    found: dict[str, float] = {}
    for name in REPORTS:
        with (reports / name).open(encoding="utf-8") as file:
            (row,) = csv.DictReader(file, skipinitialspace=True)
        found |= {key.strip(): float(value) for key, value in row.items() if key and value}
    shutil.rmtree(folder)
    return {
        "figure": found["Total Cycles (incl. prefetch)"],
        "alone": found["Total Cycles"],
        "stalls": found["Stall Cycles"],
        "traffic_bytes": sum(found[name] for name in WORDS),
    }


def main() -> None:
    """Do what the command line says."""
    topology, config, folder, count, *gemm = sys.argv[1:]
    begun, known, layers = monotonic(), dict[str, dict[str, float]](), dict[str, dict[str, float]]()
    header, *rows = Path(topology).read_text(encoding="utf-8").splitlines()
    rows = [row for row in rows if row.strip(" ,")]
    for number, row in enumerate(rows[: int(count)]):
        name, _, sizes = ("".join(row.split())).partition(",")
        if sizes not in known:
            one = Path(folder, "one.csv")
            one.write_text(f"{header}\n{row}\n", encoding="utf-8")
            known[sizes] = run(one, config, Path(folder, "out"), bool(gemm))
            sys.stderr.write(f"{monotonic() - begun:.0f} s: {name} {known[sizes]}\n")
        layers[f"{name}.{number}"] = known[sizes]
    answer = {
        "version": f"SCALE-Sim {version('scalesim')}",
        **{key: sum(each[key] for each in layers.values()) for key in layers[next(iter(layers))]},
        "seconds": monotonic() - begun,
        "layers": layers,
    }
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
