"""What has ended in a traceback, a hang or a flood once: a recipe for each cause, in variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import onnx

from tests.fuzz import bases, networks
from tests.fuzz.case import Case, Random, Recipe, case
from tests.fuzz.odd import DEEP, DIGITS, toml_text
from tests.fuzz.recipes.outputs import ADDRESSES, CONTROLS, FORMULAS, SECRET, named
from tests.fuzz.recipes.places import instead

MACHINE = ("machines", "x.toml")
TUNE = ("tune", bases.MLP, "--space", "s.toml", "--trials", "1", "--workers", "0", "-s", "stream")


def _model(make: Callable[[Random], onnx.ModelProto]) -> Recipe:
    def recipe(folder: Path, rng: Random) -> Case:
        (folder / "n.onnx").write_bytes(networks.written(make(rng)))
        return case("solve", "n.onnx", "-s", "stream")

    return recipe


def _opset(rng: Random) -> onnx.ModelProto:
    made = networks.plain()
    made.opset_import[0].version = rng.choice((2**40, 2**33, 2**62))
    return made


def _shape(rng: Random) -> onnx.ModelProto:
    made = networks.plain()
    (node,) = (node for node in made.graph.node if node.op_type == "Shape")
    del node.input[:]
    return made


def _toml(make: Callable[[Random], str]) -> Recipe:
    def recipe(folder: Path, rng: Random) -> Case:
        (folder / "x.toml").write_text(make(rng))
        words = ("technologies", "x.toml", "--capacity", "3MB")
        return case(*rng.choice((MACHINE, MACHINE, words)))

    return recipe


def _deep(rng: Random) -> str:
    deep = rng.choice((DEEP, DEEP // 2, 10_000))
    return "a = " + rng.choice(("[" * deep, "[" * deep + "]" * deep, "{b = " * deep))


def _digits(rng: Random) -> str:
    key = rng.choice(("spm", "clock", "page", "dma_setup_cycles", "array.rows"))
    return f"{key} = {'9' * rng.choice((DIGITS, 2 * DIGITS, 4_301))}"


def _zeros(folder: Path, rng: Random) -> Case:
    """Put a number of 400 zeros into a space of machines, or into a machine."""
    zeros = "1" + "0" * 400
    if rng.random() < 0.3:
        document = {**bases.MACHINE, "energy": {**bases.MACHINE["energy"], "mac_pj": 10**400}}
        (folder / "x.toml").write_bytes(toml_text(document))
        return case(*MACHINE)
    given = rng.choice((f"[{zeros}]", zeros, f"{{low = 0, high = {zeros}}}"))
    (folder / "s.toml").write_text(f'[space]\nspm = ["1KiB", "2KiB"]\nenergy.mac_pj = {given}\n')
    return case(*TUNE)


def _superscript(folder: Path, rng: Random) -> Case:
    odd = rng.choice(("8B:32B:x\u00b2", "8B:32B:x\u00b9", "8B:32B:x\u00b2\u00b3", "8B:32B:\u00b2B"))
    return case("sweep", bases.MLP, "-s", "stream", "--spm", odd, "-o", "s.csv")


def _instead(kind: str) -> Recipe:
    return lambda folder, rng: instead(folder, rng, kind)


def _field(columns: Sequence[str], text: str) -> Recipe:
    """Put a text into the first row of a sweep, in one of some columns."""

    def recipe(folder: Path, rng: Random) -> Case:
        about, names, row, *more = bases.sweep().decode().splitlines()
        cells = row.split(",")
        cells[names.split(",").index(rng.choice(columns))] = text
        (folder / "s.csv").write_text("\n".join([about, names, ",".join(cells), *more]) + "\n")
        words = (("report", "s.csv", "-o", "s.html"), ("plot", "s.csv", "-o", "s.svg"))
        return case(*rng.choice((words[0], words[0], words[0], words[1])))

    return recipe


def _offsets(folder: Path, rng: Random) -> Case:
    """Fix buffers near the end of 64-bit numbers."""
    most = rng.choice((2**63 - 1, 2**63 - 64, 2**62, 2**61, 2**60))
    rows = ["id,lower,upper,size,offset", f"a,0,9,{rng.choice((1, 64, 2**40))},{most}"]
    rows += [f"b{k},{k},{k + 2},{rng.choice((1, 64, 2**40))}," for k in range(rng.choice((1, 4)))]
    (folder / "b.csv").write_text("\n".join(rows) + "\n")
    return case("allocate", "b.csv", "--minimize", "--time-limit", "0.1", "-o", "o.csv")


def _controls(folder: Path, rng: Random) -> Case:
    named(folder, rng.choice(CONTROLS))
    words = (("solve", "i.json", "-s", "stream"), ("explain", "i.json", "-s", "belady"))
    return case(*rng.choice(words))


def _formulas(folder: Path, rng: Random) -> Case:
    named(folder, rng.choice(FORMULAS))
    return case("explain", "i.json", "-s", "belady", "--csv", "a.csv")


def _study(folder: Path, rng: Random) -> Case:
    (folder / "s.toml").write_bytes(toml_text(bases.SPACE))
    return case(*TUNE, "--storage", "t.db", "--study", rng.choice(("../../X", "../X", "a/../../X")))


def _password(folder: Path, rng: Random) -> Case:
    return case("tune", "show", "--storage", rng.choice(ADDRESSES), secret=SECRET)


def _chain(folder: Path, rng: Random) -> Case:
    (folder / "n.onnx").write_bytes(networks.written(networks.chained(100_000)))
    return case("solve", "n.onnx", "-s", "stream")


CAUSES: dict[str, Recipe] = {
    "functions that cannot be inlined": _model(networks.broken_functions),
    "functions that expand past memory": _model(networks.doubling),
    "text of functions that expands": _model(networks.passed_on),
    "opset 2^40": _model(_opset),
    "Shape without input": _model(_shape),
    "TOML nested 100,000 deep": _toml(_deep),
    "integers of 5,001 digits": _toml(_digits),
    "mac_pj of 400 zeros": _zeros,
    "200 KB of dotted keys": _toml(lambda rng: "a." * rng.choice((DEEP, DEEP // 2)) + "b = 1"),
    "superscript digits": _superscript,
    "folder that may not be read": _instead("locked"),
    "name of 5,000 characters": _instead("long"),
    "/dev/zero in place of a file": _instead("zero"),
    "inf in rows of a sweep": _field(
        ("time_s", "energy_j", "area_mm2", "value", "bound", "gap"), "inf"
    ),
    "field of over 131,072 characters": _field(
        ("network", "machine", "technology", "note", "value"), "a" * 140_000
    ),
    "offsets near 2^63": _offsets,
    "control characters on the way out": _controls,
    "formulas in CSV": _formulas,
    "study that is a path": _study,
    "password in an error": _password,
    "chain of 100,000 operators": _chain,
}
"""Recipes by cause."""
SELDOM = {"chain of 100,000 operators", "functions that expand past memory"}
"""Causes that take seconds each."""
