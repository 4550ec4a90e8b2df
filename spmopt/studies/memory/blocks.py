"""What blocks of other sizes would change of the figures that count accesses one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spmopt.frontends.networks import load_network
from spmopt.graph.ir import Graph
from spmopt.hardware.technologies import load_technology
from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.claim import Claim
from spmopt.studies.memory.products import accesses
from spmopt.studies.memory.rows import Workload
from spmopt.studies.memory.spent import Spent, one_by_one
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Sheet
from spmopt.sweep.rows import Row

TILES = (32, 64, 128, 256)
_NOTHING = Spent(
    time_s=0.0,
    dram_s=0.0,
    read_bytes=0,
    write_bytes=0,
    dram_bytes=0,
    spm_read_j=0.0,
    spm_write_j=0.0,
    leakage_j=0.0,
    dram_j=0.0,
    mac_j=0.0,
    area_mm2=0.0,
)
"""No traffic: figures with the DRAM are left out."""


def figures(
    workloads: Sequence[Workload], claims: Sequence[Claim], assumed: Assumptions
) -> Figures:
    """What claims are found to be that no schedule enters, by size of the blocks and claim."""
    graphs = {
        workload: load_network(workload.network, batch=workload.batch, training=workload.training)
        for workload in workloads
    }
    found: dict[str, float] = {}
    for tile in TILES:
        rows = Rows(
            [
                row
                for workload, graph in graphs.items()
                for row in _rows(workload, graph, replace(assumed, tile=tile))
            ]
        )
        found |= {f"{tile}: {claim.text}": claim.found(rows) for claim in claims}
    return found


def _rows(workload: Workload, graph: Graph, assumed: Assumptions) -> list[Row]:
    """One of each technology."""
    accessed = accesses(graph, assumed.tile)
    rows: list[Row] = []
    for role in workload.roles:
        pad = load_technology(assumed.technology(role)).at(workload.spm_bytes)
        about: Row = {
            "network": workload.network,
            "training": workload.training,
            "batch": workload.batch,
            "role": role,
        }
        rows.append({**about, **one_by_one(pad, accessed, _NOTHING, assumed).row()})
    return rows


def sheet(found: Figures, claims: Sequence[Claim]) -> Sheet:
    """Claims by line, sizes of blocks by column."""
    lines = [
        [
            claim.text,
            "-" if claim.paper is None else f"{claim.paper:g}",
            *(claim.cell(found[f"{tile}: {claim.text}"]) for tile in TILES),
        ]
        for claim in claims
    ]
    return Sheet(
        title="One by one, with blocks of products of other sizes (rows and columns)",
        heads=("figure", "paper", *map(str, TILES)),
        rows=lines,
    )
