"""TOML and YAML: machines, technologies, spaces, rules of operators, fusion plans, projects."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from tests.fuzz import bases, networks
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import damaged, json_text, mutated, toml_text, value


def _tables(folder: Path, rng: Random, document: Mapping[str, Any], name: str) -> None:
    content = toml_text(mutated(dict(document), rng))
    if rng.random() < 0.2:
        content = damaged(toml_text(dict(document)), rng)
    (folder / name).write_bytes(content)


def machine(folder: Path, rng: Random) -> Case:
    """A machine in TOML."""
    _tables(folder, rng, rng.choice((bases.MACHINE, bases.BANKED)), "m.toml")
    words = rng.choice(
        (
            ("machines", "m.toml"),
            ("solve", "bert-tiny", "--batch", "1", "--machine", "m.toml", "-s", "stream"),
        )
    )
    return case(*words)


def technology(folder: Path, rng: Random) -> Case:
    """A memory technology."""
    path = bases.TOP / "spmopt/hardware/technology_presets" / "deepnvm-stt.toml"
    _tables(folder, rng, tomllib.loads(path.read_text()), "t.toml")
    words = (
        ("technologies", "t.toml", "--capacity", "3MB"),
        ("solve", bases.MLP, "-s", "stream", "--technology", "t.toml"),
    )
    return case(*rng.choice(words))


def space(folder: Path, rng: Random) -> Case:
    """The space of a search."""
    document = dict(bases.SPACE)
    if rng.random() < 0.4:
        fields = {**document["space"], rng.choice(("spm", "bandwidth", "cores")): value(rng)}
        if rng.random() < 0.5:
            odd = {"low": value(rng), "high": value(rng), "step": value(rng)}
            fields[rng.choice(("spm", "cores", "energy.mac_pj"))] = odd
        (folder / "s.toml").write_bytes(toml_text({**document, "space": fields}))
    else:
        _tables(folder, rng, document, "s.toml")
    words = ("--space", "s.toml", "--trials", "1", "--workers", "0", "-s", "stream")
    name = "t.db" if rng.random() < 0.9 else "journal:t.log"
    return case("tune", bases.MLP, *words, "--storage", name)


def project(folder: Path, rng: Random) -> Case:
    """A file of the project, which every command reads."""
    _tables(folder, rng, bases.PROJECT, "spmopt.toml")
    return case(*rng.choice((("machines",), ("solve", bases.MLP, "-s", "stream"))))


def operators(folder: Path, rng: Random) -> Case:
    """Rules of operators, for a file that has one of them."""
    _tables(folder, rng, bases.OPERATORS, "o.toml")
    made = networks.plain()
    made.graph.node[1].op_type, made.graph.node[1].domain = "Swirl", "com.acme"
    made.opset_import.append(onnx.helper.make_opsetid("com.acme", 1))
    (folder / "x.onnx").write_bytes(networks.written(made))
    return case("solve", "x.onnx", "-s", "stream", "--operators", "o.toml")


def fusion_plan(folder: Path, rng: Random) -> Case:
    """A fusion plan in JSON or TOML."""
    document = {"fused_groups": [{"begin": 0, "end": 20, "fusion": 2}, {"begin": 20, "fusion": 2}]}
    found = mutated(document, rng)
    if rng.random() < 0.5:
        (folder / "c.json").write_bytes(json_text(found))
        return case("solve", "bert-tiny", "--batch", "2", "-s", "stream", "--fusion-plan", "c.json")
    lines = ["[[fused_groups]]\n" + toml_text(each).decode() for each in document["fused_groups"]]
    (folder / "c.toml").write_bytes(damaged("\n".join(lines).encode(), rng))
    return case("solve", "bert-tiny", "--batch", "2", "-s", "stream", "--fusion-plan", "c.toml")
