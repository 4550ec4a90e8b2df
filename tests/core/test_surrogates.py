"""Lone surrogates in the strings of a JSON file: one line, whichever field has them."""

import json
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.core.validation import read_json
from tests.cli.run import runner

MLP = Path(__file__).parents[2] / "instances" / "mlp.json"


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))  # escapes what is not ASCII
    return path


def strings(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of the first string of each field, keys included."""
    if isinstance(value, str):
        return [path]
    if isinstance(value, dict):
        return [each for key, part in value.items() for each in strings(part, (*path, key))]
    return strings(value[0], (*path, 0)) if isinstance(value, list) and value else []


def replaced(value: Any, path: tuple[Any, ...], text: str) -> Any:
    if not path:
        return text
    items = value.items() if isinstance(value, dict) else enumerate(value)
    parts = [(k, replaced(v, path[1:], text) if k == path[0] else v) for k, v in items]
    return dict(parts) if isinstance(value, dict) else [v for _, v in parts]


DOCUMENT = json.loads(MLP.read_text())


@pytest.mark.parametrize("path", strings(DOCUMENT), ids=str)
@pytest.mark.parametrize("half", ["\ud800", "x\udfff"])
def test_half_a_character_is_refused_in_every_field(
    path: tuple[Any, ...], half: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "i.json", replaced(DOCUMENT, path, half))
    run = runner(capsys)
    for command in ("solve -s lru", "verify"):
        ran = run(f"{command} {file}")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert "lone surrogate" in ran.err


def test_half_a_character_is_refused_as_a_key(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        read_json(written(tmp_path / "k.json", {"\udc00": 1}))


def test_pairs_are_characters(tmp_path: Path) -> None:
    assert read_json(written(tmp_path / "p.json", ["\U0001f600 \\ud800"])) == ["😀 \\ud800"]
