"""Asks AccelForge for its best mapping of a layer of LLaMA-3 8B; for a Python that has it.

``python ask_accelforge.py SOURCES MACHINE TOKENS MIB LOOPS``: SOURCES is a checkout of AccelForge
with its examples, MACHINE one of its architectures. MIB is the size of its global buffer (``own``:
as in the file), LOOPS the most loops that Einsums may share (``any``: no limit). Its mapper
minimizes accesses of DRAM on ``snowcat``, where they alone cost energy, and latency elsewhere. It
prints as JSON the bytes to and from DRAM, the latency, and the same of each Einsum. Nothing of
spmopt is imported here.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import accelforge
from accelforge.mapper.FFM.mappings import Mappings

WORKLOAD = "workloads/transformers/llama/llama3_8B.yaml"
MEMORY, BUFFER = "MainMemory", "GlobalBuffer"


def specification(examples: Path, machine: str, tokens: int, mib: str, loops: str) -> Any:
    """Return the workload on the machine, with the objective of its mapper."""
    spec = accelforge.Spec.from_yaml(
        examples / f"arches/{machine}.yaml",
        examples / WORKLOAD,
        jinja_parse_data={"BATCH_SIZE": 1, "DECODE": False, "N_NEW_TOKENS": tokens},
    )
    if mib != "own":
        spec.arch.find(BUFFER).size = int(mib) * 2**20 * 8
    if loops != "any":
        spec.mapper.max_fused_loops = int(loops)
    metrics = accelforge.Metrics
    spec.mapper.metrics = metrics.ENERGY if machine == "snowcat" else metrics.LATENCY
    return spec


def einsums(columns: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return bytes to and from DRAM, seconds of it and of all else, and products, by Einsum."""
    found: dict[str, dict[str, float]] = {}
    for column, value in columns.items():
        name, kind, *rest = column.split("<SEP>")
        if name == "Total" or kind not in ("action", "latency"):
            continue
        figures = {"traffic_bytes": 0.0, "dram_s": 0.0, "on_chip_s": 0.0, "computes": 0.0}
        figures = found.setdefault(name, figures)
        if kind == "latency":
            key = "dram_s" if rest[0] == MEMORY else "on_chip_s"
            figures[key] = max(figures[key], float(value))
        elif rest[0] == MEMORY:
            figures["traffic_bytes"] += float(value) / 8
        elif rest[-1] == "compute":
            figures["computes"] += float(value)
    return found


def main() -> None:
    """Do what the command line says."""
    sources, machine, tokens, mib, loops = sys.argv[1:]
    examples = Path(sources).resolve() / "examples"
    # It draws every mapping that it finds by Graphviz, in the working directory.
    Mappings.render = lambda _self, **_options: ""
    accelforge.set_n_parallel_jobs(1)
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        os.chdir(folder)
        spec = specification(examples, machine, int(tokens), mib, loops)
        begun = monotonic()
        mappings = spec.map_workload_to_arch(print_progress=False)
        seconds = monotonic() - begun
        os.chdir(examples)
    layers = einsums(mappings.data.iloc[0].to_dict())
    answer = {
        "version": f"AccelForge {version('accelforge')}",
        "traffic_bytes": sum(each["traffic_bytes"] for each in layers.values()),
        "latency_s": float(mappings.latency()),
        "seconds": seconds,
        "layers": layers,
    }
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
