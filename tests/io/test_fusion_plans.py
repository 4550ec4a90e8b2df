"""Files of fusion plans: what they say is read, and what is wrong in one is said in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import TileableGraph, source_graph
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.io.files import write_result
from spmopt.io.fusion_plans import read_fusion_plan
from tests.fused import MACHINE, perceptron
from tests.graph.networks import mlp, residual

FORWARD = ("y1", "r", "y2", "loss")


@pytest.fixture(scope="module")
def forward() -> TileableGraph:
    found = tileable(mlp(), MACHINE)
    assert tuple(operation.name for operation in found.operations) == FORWARD
    return found


def written(folder: Path, text: str, name: str = "fusion_plan.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_names_and_positions_say_the_same(tmp_path: Path, forward: TileableGraph) -> None:
    toml = """
    [[fused_groups]]
    first = "y1"
    last = "r"
    micro_batches = 4
    [[fused_groups]]
    begin = 2
    end = 4
    """
    named = {
        "fused_groups": [
            {"first": "y1", "last": "r", "micro_batches": 4},
            {"begin": 2, "last": "loss"},
        ]
    }
    expected = (FusedGroup(begin=0, end=2, micro_batches=4), FusedGroup(begin=2, end=4))
    assert read_fusion_plan(written(tmp_path, toml), forward) == expected
    path = written(tmp_path, json.dumps(named), "fusion_plan.json")
    assert read_fusion_plan(path, forward) == expected


def test_axes_and_tiles_go_by_their_names(tmp_path: Path, forward: TileableGraph) -> None:
    """A graph of a batch has it by name; one with windows has rows, which stripes cut."""
    whole = 'first = "y1"\nlast = "loss"\n'
    path = written(tmp_path, f'[[fused_groups]]\n{whole}axis = "batch"\ntiles = 4')
    assert read_fusion_plan(path, forward) == (FusedGroup(begin=0, end=4, micro_batches=4),)
    images = tileable(residual(), MACHINE)
    convolution = images.operations[0].name
    group = f'first = "{convolution}"\nlast = "{convolution}"\naxis = "rows"\ntiles = 2'
    path = written(
        tmp_path,
        f"[[fused_groups]]\n{group}\n[[fused_groups]]\nbegin = 1\nend = {len(images.operations)}",
    )
    rows = FusedGroup(begin=0, end=1, micro_batches=images.batch, stripes=2)
    assert read_fusion_plan(path, images)[0] == rows


def test_a_result_is_a_file_of_its_fusion_plan(tmp_path: Path) -> None:
    stored, path = perceptron(), tmp_path / "result.json"
    write_result(path, stored)
    assert stored.result.fused is not None
    assert (
        read_fusion_plan(path, source_graph(stored.result.fused)) == stored.result.fused.fusion_plan
    )


@pytest.mark.parametrize(
    ("fused_groups", "said"),
    [
        ('first = "y3"\nlast = "r"', "fused_groups[0].first: no operation called 'y3'"),
        ('first = "y1"\nlast = "r"', "fused groups: y2 and all later operations are in none"),
        ('first = "r"\nlast = "loss"', "fused_groups[0]: begins with r, but y1 before it is in no"),
        ("begin = 0\nend = 5", "fused_groups[0].end: must be 0 to 4, is 5"),
        ("begin = 2\nend = 2", "fused_groups[0]: ends before it begins"),
        (
            "begin = 0\nend = 4\npieces = 3",
            "fused_groups[0], y1 to loss in 3 fusion tiles: 3 fusion tiles do not",
        ),
        (
            "begin = 0\nend = 4\npieces = 0",
            "fused_groups[0].micro_batches: must be at least 1, is 0",
        ),
        ("begin = 0\nend = 4\nstrips = 2", "fused_groups[0]: no key called 'strips'"),
        ('begin = 0\nfirst = "y1"\nend = 4', "fused_groups[0]: give first (a name) or begin"),
        (
            'first = "loss2"\nend = 4',
            "fused_groups[0].first: no operation called 'loss2'; did you mean loss?",
        ),
        (
            'first = "conv"\nend = 4',
            "fused_groups[0].first: no operation called 'conv'; 'spmopt problem NETWORK -o FILE'",
        ),
        (
            'begin = 0\nend = 4\naxis = "rows"',
            "fused_groups[0].axis: no axis called 'rows'; choose one of batch",
        ),
        ("begin = 0\nend = 4\ntiles = true", "fused_groups[0].tiles: must be a whole number"),
        (
            "begin = 0\nend = 4\ntiles = 2\nmicro_batches = 2",
            "fused_groups[0]: give tiles or micro_batches, one of them",
        ),
        ('begin = "y1"\nend = 4', "fused_groups[0].begin: must be a whole number"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, forward: TileableGraph, fused_groups: str, said: str
) -> None:
    path = written(tmp_path, f"[[fused_groups]]\n{fused_groups}\n")
    with pytest.raises(InputError) as caught:
        read_fusion_plan(path, forward)
    assert str(caught.value).startswith(f"{path}: {said}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "fused_groups = 3", "rows = 1\n[[fused_groups]]\nbegin = 0\nend = 4"]
)
def test_what_is_no_fusion_plan_is_said(tmp_path: Path, forward: TileableGraph, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=r"must have fused groups|no key called 'rows'"):
        read_fusion_plan(path, forward)
    with pytest.raises(InputError, match=r"picture; give one in TOML"):
        read_fusion_plan(written(tmp_path, "", "fusion_plan.png"), forward)


def test_a_result_of_layer_by_layer_has_no_fusion_plan(
    tmp_path: Path, forward: TileableGraph
) -> None:
    path = tmp_path / "plain.json"
    write_result(path, perceptron())
    document = json.loads(path.read_text())
    del document["fusion"], document["fusion_bound"]
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"layer by layer, which has no fusion plan"):
        read_fusion_plan(path, forward)


def test_what_cannot_be_cut_is_named() -> None:
    found = tileable(training_graph(mlp(), optimizer="sgd"), MACHINE)
    count = len(found.operations)
    with pytest.raises(
        InputError, match=r"fused_groups\[0\].*w2.update cannot be cut along the batch"
    ):
        found.require((FusedGroup(begin=0, end=count, micro_batches=4),))
    twice = FusedGroup(begin=0, end=2), FusedGroup(begin=1, end=count)
    with pytest.raises(InputError, match="is in a fused group before, too"):
        found.require(twice)
