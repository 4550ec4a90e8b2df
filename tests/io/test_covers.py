"""Files of covers: what they say is read, and what is wrong in one is said in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Segment
from spmopt.graph.listing import listing
from spmopt.graph.training import training_graph
from spmopt.io.covers import read_cover, require_cover
from spmopt.io.files import write_result
from tests.graph.networks import mlp
from tests.in_pieces import MACHINE, perceptron

FORWARD = ("y1", "r", "y2", "loss")


@pytest.fixture(scope="module")
def forward() -> Listing:
    found = listing(mlp(), MACHINE)
    assert tuple(operation.name for operation in found.operations) == FORWARD
    return found


def written(folder: Path, text: str, name: str = "cover.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_names_and_positions_say_the_same(tmp_path: Path, forward: Listing) -> None:
    toml = """
    [[segments]]
    first = "y1"
    last = "r"
    pieces = 4
    [[segments]]
    begin = 2
    end = 4
    """
    named = {"segments": [{"first": "y1", "last": "r", "pieces": 4}, {"begin": 2, "last": "loss"}]}
    expected = (Segment(begin=0, end=2, pieces=4), Segment(begin=2, end=4))
    assert read_cover(written(tmp_path, toml), forward) == expected
    path = written(tmp_path, json.dumps(named), "cover.json")
    assert read_cover(path, forward) == expected


def test_a_result_is_a_file_of_its_cover(tmp_path: Path) -> None:
    stored, path = perceptron(), tmp_path / "result.json"
    write_result(path, stored)
    assert stored.result.pieces is not None
    assert read_cover(path, stored.result.pieces.listing) == stored.result.pieces.cover


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        ('first = "y3"\nlast = "r"', "segments[0].first: no operation called 'y3'"),
        ('first = "y1"\nlast = "r"', "segments: y2 and what follows it are in none"),
        ('first = "r"\nlast = "loss"', "segments[0]: begins with r, but y1 before it is in no"),
        ("begin = 0\nend = 5", "segments[0].end: must be 0 to 4, is 5"),
        ("begin = 2\nend = 2", "segments[0]: ends before it begins"),
        ("begin = 0\nend = 4\npieces = 3", "segments[0], y1 to loss in 3 pieces: 3 pieces do not"),
        ("begin = 0\nend = 4\npieces = 0", "segments[0].pieces: must be at least 1, is 0"),
        ("begin = 0\nend = 4\nstrips = 2", "segments[0]: no key called 'strips'"),
        ('begin = 0\nfirst = "y1"\nend = 4', "segments[0]: give first (a name) or begin"),
        ('begin = "y1"\nend = 4', "segments[0].begin: must be a whole number"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, forward: Listing, segments: str, said: str) -> None:
    path = written(tmp_path, f"[[segments]]\n{segments}\n")
    with pytest.raises(InputError) as caught:
        read_cover(path, forward)
    assert str(caught.value).startswith(f"{path}: {said}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "segments = 3", "rows = 1\n[[segments]]\nbegin = 0\nend = 4"])
def test_what_is_no_cover_is_said(tmp_path: Path, forward: Listing, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=r"must have segments|no key called 'rows'"):
        read_cover(path, forward)
    with pytest.raises(InputError, match=r"picture; give one in TOML"):
        read_cover(written(tmp_path, "", "cover.png"), forward)


def test_a_result_of_the_list_as_given_has_no_cover(tmp_path: Path, forward: Listing) -> None:
    path = tmp_path / "plain.json"
    write_result(path, perceptron())
    document = json.loads(path.read_text())
    del document["pieces"], document["cover_bound"]
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"list as given, which has no cover"):
        read_cover(path, forward)


def test_what_cannot_be_cut_is_named() -> None:
    found = listing(training_graph(mlp(), optimizer="sgd"), MACHINE)
    count = len(found.operations)
    with pytest.raises(InputError, match=r"segments\[0\].*w2.update cannot be cut along the batch"):
        require_cover([Segment(begin=0, end=count, pieces=4)], found)
    twice = [Segment(begin=0, end=2), Segment(begin=1, end=count)]
    with pytest.raises(InputError, match="is in a segment before, too"):
        require_cover(twice, found)
