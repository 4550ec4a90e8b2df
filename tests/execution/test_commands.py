"""The list of commands of a schedule that is written out by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spmopt
from spmopt.assemble import assemble
from spmopt.core.errors import InputError
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.execution.commands import Kind, Use, machine_program
from spmopt.io.files import read_problem
from tests.tiny import Op, tiny

PROBLEMS = Path(__file__).parents[2] / "instances"

# Pages of 4 bytes, 3 of them. x is read from the scratchpad, y stays there but for its last 4
# bytes, which stream; z goes out as it is made.
PROBLEM = tiny(
    {"x": (8, "in"), "y": (8, ""), "z": (6, "keep")},
    [Op(reads="x", writes="y"), Op(reads="y", writes="z", scratch=3)],
    spm=14,
)
RESIDENCY_PLAN = ResidencyPlan(
    steps=Steps.listed(np.zeros(2, np.int64)),
    residency=Residency.of_rows([(0, 0, 1, 8), (1, 0, 2, 4)]),
    stores=Stores.empty(),
)


def test_a_schedule_by_hand() -> None:
    schedule = assemble(PROBLEM, RESIDENCY_PLAN)
    program = machine_program(PROBLEM, schedule)
    place = {row[0]: 4 * row[3] for row in schedule.placements.rows()}
    assert [(Kind(row[1]).name, *row[2:]) for row in program.commands.rows()] == [
        ("LOAD", -1, 0, 0, 8, 1),
        ("COMPUTE", 0, -1, 0, 0, 1),
        ("STREAM_OUT", -1, 1, 4, 8, 1),
        ("STREAM_IN", -1, 1, 4, 8, 1),
        ("COMPUTE", 1, -1, 0, 0, 1),
        ("STREAM_OUT", -1, 2, 0, 6, 1),
    ]
    assert [(*row[:5], Use(row[5]).name) for row in program.segments.rows()] == [
        (0, 0, 0, 8, place[0], "WRITE"),
        (1, 0, 0, 8, place[0], "READ"),
        (1, 1, 0, 4, place[1], "WRITE"),
        (4, 1, 0, 4, place[1], "READ"),
        (4, -1, 0, 3, place[-1], "SCRATCH"),
    ]
    assert program.releases.rows() == [(3, place[0], 8)]
    assert program.dram_offset.tolist() == [0, 64, 128]
    assert (program.dram_bytes, program.peak_spm_bytes) == (134, 12)
    assert program.first_segment.tolist() == [0, 1, 3, 3, 3, 5, 5]


def test_what_is_large_and_not_used_takes_no_memory() -> None:
    """Commands of a tensor of 2**40 bytes are few; to execute them takes more than there is."""
    small = read_problem(PROBLEMS / "mlp.json")
    large = replace(small.tensors[0], size_bytes=2**40)
    problem = replace(
        small,
        tensors=(large, *small.tensors[1:]),
        machine=replace(small.machine, spm_bytes=2**42),
    )
    for scheduler in ("stream", "belady"):
        found = spmopt.solve(problem, scheduler)
        assert str(spmopt.emit(found)).startswith(("mlp: 38 commands", "mlp: 20 commands"))
        with pytest.raises(InputError, match=r"about [\d.]+ TB of memory, of which this computer"):
            spmopt.run(found)
