"""A tiny study, and one cut down to a tiny network."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.hardware.machines import load_machine
from spmopt.studies.record import Recorded
from spmopt.studies.rows import Rows
from spmopt.studies.run import measure
from spmopt.studies.study import Figures, Findings, Part, Sheet, Study
from spmopt.sweep.cases import Case, Network
from spmopt.sweep.work import Search

SIZES = (400_000, 600_000, 800_000)
SEARCH = Search(tolerance=1e-2)


def network(layers: int = 1, lowering: str = "ideal") -> Network:
    """BERT-tiny, smaller still."""
    return Network(
        name="bert-tiny",
        training=True,
        batch=2,
        parameters=(("layers", layers), ("sequence", 32)),
        lowering=lowering,
    )


def case(capacities: Sequence[int] = SIZES, layers: int = 1, lowering: str = "ideal") -> Case:
    machine = replace(load_machine("rtx2080ti"), spm_bytes=capacities[0])
    return Case(network=network(layers, lowering), machine=machine, capacities=tuple(capacities))


def parts() -> tuple[Part, ...]:
    """Two objectives: rows that differ in their part alone."""
    return tuple(
        Part(
            name=objective,
            cases=(case(),),
            schedulers=("stream", "fluid"),
            search=replace(SEARCH, objective=objective),
        )
        for objective in ("time", "traffic")
    )


def find(rows: Rows, figures: Figures) -> Findings:
    lines = [
        [str(row["part"]), str(row["spm_bytes"]), str(row["scheduler"]), str(row["bound"])]
        for row in rows
    ]
    return Findings(
        sheets=(Sheet(heads=("part", "SPM", "scheduler", "bound"), rows=lines),),
        sentences=("One.", f"Two is {figures['two']}.", "Three."),
        notes=("a note",),
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    path.write_text(f"{len(rows)} {figures['two']}")


SMALL = Study(
    name="small",
    title="what is small",
    about="A question.",
    parts=parts,
    find=find,
    figures=lambda: {"two": 2.0},
    draw=draw,
)


def run(study: Study, folder: Path) -> Recorded:
    """Measure a study in this process."""
    return measure(
        study,
        folder,
        f"spmopt study {study.name}",
        jobs=1,
        report=lambda *_: None,
        warn=pytest.fail,
    )
