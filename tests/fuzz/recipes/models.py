"""Files of ONNX."""

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto

from tests.fuzz import networks
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import damaged


def _solved(folder: Path, rng: Random, content: bytes) -> Case:
    (folder / "n.onnx").write_bytes(content)
    words = (("solve", "n.onnx", "-s", "stream"), ("problem", "n.onnx", "-o", "i.json"))
    more = rng.choice(((), (), ("--training",), ("--batch", "3")))
    return case(*rng.choice(words), *more)


def _made(folder: Path, rng: Random, model: ModelProto) -> Case:
    return _solved(folder, rng, networks.written(model))


def damaged_model(folder: Path, rng: Random) -> Case:
    """A small model, cut, flipped or repeated in places."""
    return _solved(folder, rng, damaged(networks.written(networks.plain()), rng))


def strange_model(folder: Path, rng: Random) -> Case:
    """A small model with one thing in it that is none."""
    return _made(folder, rng, networks.strange(rng))


def functions(folder: Path, rng: Random) -> Case:
    """Functions that cannot be written out, or that call each other."""
    make = rng.choice((networks.broken_functions, networks.broken_functions, networks.doubling))
    return _made(folder, rng, make(rng))


def expanding_model(folder: Path, rng: Random) -> Case:
    """Functions that expand past all memory, branches in branches, constants of any size."""
    makers = (networks.wide_calls, networks.passed_on, networks.deep, networks.constants)
    return _made(folder, rng, rng.choice(makers)(rng))


def constants(folder: Path, rng: Random) -> Case:
    """Constants that are computed: shapes that grow to memory's end."""
    return _made(folder, rng, networks.constants(rng))


def long_chain(folder: Path, rng: Random) -> Case:
    """Many operators, one after another."""
    count = rng.choice((1_000, 5_000, 20_000, 100_000))
    (folder / "n.onnx").write_bytes(networks.written(networks.chained(count)))
    return case("solve", "n.onnx", "-s", "stream")
