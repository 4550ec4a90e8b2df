"""Hostile inputs by kind: each recipe writes files into a folder and returns a command line."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx

from tests.fuzz import bases, networks
from tests.fuzz.check import Case
from tests.fuzz.odd import DEEP, DIGITS, NAMES, SIZES, damaged, json_text, mutated, toml_text, value

Random = random.Random
Recipe = Callable[[Path, Random], Case]
SOLVE = ("solve", "mlp.json", "-s", "stream")
_MLP = str(bases.INSTANCES / "mlp.json")


def _case(kind: str, *words: str, **more: Any) -> Case:
    return Case(kind, [word.replace("\x00", "") for word in words], **more)


def instance(folder: Path, rng: Random) -> Case:
    """An instance that is damaged, or says what cannot be."""
    document = bases.instance(rng.choice(bases.NAMES))
    content = json_text(mutated(document, rng))
    if rng.random() < 0.2:
        content = damaged(json_text(document), rng)
    (folder / "i.json").write_bytes(content)
    words = rng.choice(
        (
            ("solve", "i.json", "-s", "stream"),
            ("analyze", "i.json", "-s", "belady", "--csv", "a.csv"),
            ("compare", "i.json", "-s", "stream,belady", "--json"),
            ("solve", "i.json", "-s", "belady-size", "-o", "r.json"),
        )
    )
    return _case("instance", *words)


def result(folder: Path, rng: Random) -> Case:
    """A result file that is damaged, or claims what is not true."""
    document = bases.result(rng.random() < 0.3)
    content = json_text(mutated(document, rng))
    if rng.random() < 0.2:
        content = damaged(json_text(document), rng)
    (folder / "r.json").write_bytes(content)
    words = rng.choice(
        (
            ("verify", "r.json"),
            ("verify", "r.json", "--json"),
            ("analyze", "r.json", "--csv", "a.csv"),
            ("explain", "r.json"),
            ("trace", "r.json", "-o", "t.json"),
            ("report", "r.json", "-o", "r.html"),
        )
    )
    return _case("result", *words)


def json_nest(folder: Path, rng: Random) -> Case:
    """JSON that is deep, has many digits, or is none."""
    text = rng.choice(
        (
            "[" * DEEP,
            "[" * DEEP + "]" * DEEP,
            '{"a":' * DEEP,
            '{"format": "spmopt-instance", "version": ' + "9" * DIGITS + "}",
            '{"format": "spmopt-result", "version": 1e' + "9" * DIGITS + "}",
            "9" * DIGITS,
            "",
            "null",
            "[" + "{}," * 3_000_000 + "{}]",
            "[" + "1000," * 3_000_000 + "1]",
            '{"format": "spmopt-instance", "version": true}',
            '"\\ud800"',
            "\ufeff{}",
        )
    )
    (folder / "x.json").write_text(text, encoding="utf-8")
    words = rng.choice(
        (
            ["solve", "x.json", "-s", "stream"],
            ["verify", "x.json"],
            ["solve", _MLP, "-s", "stream", "--costs", "x.json"],
            ["solve", "bert-tiny", "--batch", "4", "-s", "stream", "--cover", "x.json"],
        )
    )
    return _case("nested JSON", *words)


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
    return _case("machine", *words)


def toml_nest(folder: Path, rng: Random) -> Case:
    """TOML that is deep, has many digits or dots, is long, or holds odd values."""
    text = rng.choice(
        (
            "a = " + "[" * DEEP + "]" * DEEP,
            "a = " + "{b = " * 20_000,
            "a." * DEEP + "b = 1",
            "[" + "a." * DEEP + "b]",
            "".join(f"[{'a.' * 200}b{k}]\n" for k in range(1_000)),
            "a = " + "9" * DIGITS,
            "a = 0x" + "f" * DIGITS,
            "energy.mac_pj = 1" + "0" * 400,
            "energy.mac_pj = 0x1" + "0" * 400,
            "energy.mac_pj = 1e400",
            "spm = 1" + "0" * 5_000,
            'spm = "' + "1" * DIGITS + 'B"',
            'technology = "' + "t" * 5_000 + '.toml"',
            'technology = "a\\u0000.toml"',
            'bank = ["8B:a\\u0000.toml"]',
            'spm = "8B:32B:x\u00b2"',
            "a = 1979-05-27T07:32:00Z",
            "a = " + '"' * 200_000,
            "\n".join(f"k{k} = 1" for k in range(60_000)),
            "a = [" + "[1]," * 400_000 + "]",
            "[[a]]\n" * 60_000,
            "a = nan\nspm = inf",
            "\x00",
            "",
        )
    )
    (folder / "x.toml").write_text(text, encoding="utf-8")
    kind = rng.randrange(7)
    words = (
        ("machines", "x.toml"),
        ("solve", "bert-tiny", "-s", "stream", "--machine", "x.toml"),
        ("technologies", "x.toml", "--capacity", "3MB"),
        ("tune", _MLP, "--space", "x.toml", "--trials", "1", "--workers", "0", "-s", "stream"),
        ("compare", "bert-tiny", "--batch", "4", "-s", "stream", "--cover", "x.toml"),
        ("solve", "x.onnx", "-s", "stream", "--operators", "x.toml"),
        ("solve", _MLP, "-s", "stream"),
    )[kind]
    if kind == 5:
        (folder / "x.onnx").write_bytes(networks.written(networks.plain()))
    if kind == 6:
        (folder / "x.toml").rename(folder / "spmopt.toml")
    return _case("nested TOML", *words)


def technology(folder: Path, rng: Random) -> Case:
    """A memory technology."""
    path = bases.TOP / "spmopt/hardware/technology_presets" / "deepnvm-stt.toml"
    _tables(folder, rng, tomllib.loads(path.read_text()), "t.toml")
    words = (
        ("technologies", "t.toml", "--capacity", "3MB"),
        ("solve", _MLP, "-s", "stream", "--technology", "t.toml"),
    )
    return _case("technology", *rng.choice(words))


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
    return _case("space", "tune", _MLP, *words, "--storage", name)


def project(folder: Path, rng: Random) -> Case:
    """A file of the project, which every command reads."""
    _tables(folder, rng, bases.PROJECT, "spmopt.toml")
    return _case("project", *rng.choice((("machines",), ("solve", _MLP, "-s", "stream"))))


def operators(folder: Path, rng: Random) -> Case:
    """Rules of operators, for a file that has one of them."""
    _tables(folder, rng, bases.OPERATORS, "o.toml")
    made = networks.plain()
    made.graph.node[1].op_type, made.graph.node[1].domain = "Swirl", "com.acme"
    made.opset_import.append(onnx.helper.make_opsetid("com.acme", 1))
    (folder / "x.onnx").write_bytes(networks.written(made))
    return _case("operators", "solve", "x.onnx", "-s", "stream", "--operators", "o.toml")


def cover(folder: Path, rng: Random) -> Case:
    """A cover in JSON or TOML."""
    document = {"segments": [{"begin": 0, "end": 20, "pieces": 4}, {"begin": 20, "pieces": 2}]}
    found = mutated(document, rng)
    if rng.random() < 0.5:
        (folder / "c.json").write_bytes(json_text(found))
        return _case(
            "cover", "solve", "bert-tiny", "--batch", "4", "-s", "stream", "--cover", "c.json"
        )
    lines = ["[[segments]]\n" + toml_text(each).decode() for each in document["segments"]]
    (folder / "c.toml").write_bytes(damaged("\n".join(lines).encode(), rng))
    return _case("cover", "solve", "bert-tiny", "--batch", "4", "-s", "stream", "--cover", "c.toml")


def yaml_machine(folder: Path, rng: Random) -> Case:
    """A hardware file of ZigZag."""
    import yaml

    plain = (bases.INSTANCES / "zigzag/tpu_like.yaml").read_text()
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 12)
    )
    match rng.randrange(4):
        case 0:
            text = rng.choice(
                (
                    "[" * 20_000,
                    "a: " * 20_000,
                    "a: " + "9" * DIGITS,
                    "a: " + ":".join("9" * 3_000),
                    laughs,
                    laughs + "memories: *a11\noperational_array: *a11\n",
                    "a: &a [*a]\ncores: *a\n",
                    "cores: {0: x.yaml}\noffchip_core_id: 0\n",
                    "? [a, b]\n: 1\n",
                    "a: 2001-13-45\n",
                    "!!python/object/apply:os.system [id]",
                    "- a\n" * 200_000,
                    "\x07",
                )
            )
        case 1:
            text = damaged(plain.encode(), rng).decode("latin-1")
        case _:
            text = yaml.safe_dump(mutated(yaml.safe_load(plain), rng), allow_unicode=True)
    (folder / "x.yaml").write_text(text, encoding="utf-8")
    return _case(
        "YAML",
        *rng.choice((("machines", "x.yaml"), (*SOLVE[:1], _MLP, "-s", "stream"))),
        *(() if rng.random() < 0.5 else ("--json",)),
    )


_FIELDS = (
    *(
        "inf",
        "nan",
        "-1",
        "1e400",
        "9" * 30,
        "9" * DIGITS,
        "a" * 140_000,
        "\x1b[31m",
        '"',
        "\u00b2",
    ),
    *("=HYPERLINK(1)", "9223372036854775807", "0", "", "true", "{}", "[" * 2000, "1e308", "5e-324"),
)


def _cells(text: str, rng: Random, first: int = 1) -> bytes:
    """Return rows with odd fields in one or two places, or damaged."""
    if rng.random() < 0.25:
        return damaged(text.encode(), rng)
    lines = [line.split(",") for line in text.splitlines()]
    for _ in range(rng.choice((1, 1, 2))):
        row = lines[rng.randrange(min(first, len(lines) - 1), len(lines))]
        row[rng.randrange(len(row))] = rng.choice(_FIELDS)
    return "".join(",".join(row) + "\n" for row in lines).encode()


def sweep_rows(folder: Path, rng: Random) -> Case:
    """Rows of a sweep."""
    (folder / "s.csv").write_bytes(_cells(bases.sweep().decode(), rng, rng.choice((1, 2, 2))))
    words = (
        ("report", "s.csv", "-o", "s.html"),
        ("plot", "s.csv", "-o", "s.svg"),
        ("merge", "s.csv", "-o", "m.csv"),
    )
    return _case("sweep", *rng.choice(words))


def buffers(folder: Path, rng: Random) -> Case:
    """Buffers to place, offsets near the end of numbers among them."""
    rows = ["id,lower,upper,size,alignment,offset"]
    for k in range(rng.choice((1, 3, 8))):
        large = rng.choice((1, 2**20, 2**59, 2**62, 2**63 - 1, 2**63, 10**18))
        offset = rng.choice(("", "0", str(large), str(2**63 - 1 - k)))
        rows.append(f"b{k},{rng.randrange(5)},{rng.randrange(6, 9)},{large},1,{offset}")
    if rng.random() < 0.5:
        rows = [line.rpartition(",")[0] for line in rows]
    content = "\n".join(rows).encode()
    if rng.random() < 0.5:
        text = (bases.INSTANCES / "minimalloc/A.1048576.csv").read_text().splitlines()[:12]
        content = _cells("\n".join(text), rng, 0)
    (folder / "b.csv").write_bytes(content)
    words = ("--minimize",) if rng.random() < 0.6 else ("--capacity", rng.choice(("1MB", "1KiB")))
    return _case("buffers", "place", "b.csv", *words, "--time-limit", "1", "-o", "o.csv")


def topology(folder: Path, rng: Random) -> Case:
    """Layers of SCALE-Sim."""
    text = (bases.INSTANCES / "scalesim/lenet5.csv").read_text()
    (folder / "t.csv").write_bytes(_cells("\n".join(text.splitlines()[:3]), rng, 0))
    words = ("--machine", "large-npu", "--order", "interleaved", "-o", "rows.csv")
    return _case("topology", "tiles", "t.csv", *words)


def costs(folder: Path, rng: Random) -> Case:
    """Costs of operations, from a simulator."""
    names = bases.instance()["operations"]["name"][:3]
    text = "operation,mode,cycles,scratch_bytes,energy_pj,dram_bytes\n"
    text += "".join(f"{name},,100,0,5,\n" for name in names)
    (folder / "c.csv").write_bytes(_cells(text, rng, 0))
    return _case("costs", "solve", _MLP, "-s", "stream", "--costs", "c.csv")


def network(folder: Path, rng: Random) -> Case:
    """An ONNX file."""
    (folder / "n.onnx").write_bytes(networks.content(rng))
    words = (("solve", "n.onnx", "-s", "stream"), ("instance", "n.onnx", "-o", "i.json"))
    more = rng.choice(((), (), ("--training",), ("--batch", "3")))
    return _case("ONNX", *rng.choice(words), *more)


def chain(folder: Path, rng: Random) -> Case:
    """A chain of 100,000 operators."""
    (folder / "n.onnx").write_bytes(networks.written(networks.chained(100_000)))
    return _case("chain", "solve", "n.onnx", "-s", "stream")


def storage(folder: Path, rng: Random) -> Case:
    """The storage of a search: odd values in its tables, or damage."""
    journal = rng.random() < 0.35
    content = bases.study(journal)
    path = folder / "t.db"
    path.write_bytes(damaged(content, rng) if rng.random() < 0.15 else content)
    if journal:
        lines = content.decode().splitlines()
        k = rng.randrange(len(lines))
        try:
            lines[k] = json.dumps(mutated(json.loads(lines[k]), rng))
        except ValueError:
            lines[k] = "{}"
        if rng.random() < 0.8:
            path.write_text("\n".join(lines) + "\n", errors="replace")
    else:
        _altered(path, rng)
    name = f"journal:{path.name}" if journal else path.name
    (folder / "s.toml").write_bytes(toml_text(bases.SPACE))
    words = rng.choice(
        (
            ("tune", "show", "--storage", name),
            ("tune", "show", "--storage", name, "-o", "f.csv"),
            ("tune", "show", "--storage", name, "--trial", "0"),
            ("tune", "show", "--storage", name, "--json"),
            ("report", "--storage", name, "-o", "f.html"),
            (
                *("tune", _MLP, "--space", "s.toml", "--trials", "3", "--workers", "0"),
                *("-s", "stream", "--storage", name),
            ),
        )
    )
    return _case("storage", *words)


_TABLES = (
    *(("study_user_attributes", "value_json"), ("trial_user_attributes", "value_json")),
    *(("trial_system_attributes", "value_json"), ("trial_params", "param_value")),
    *(("trial_params", "distribution_json"), ("trial_values", "value"), ("trials", "state")),
    *(("study_directions", "direction"), ("studies", "study_name"), ("trials", "datetime_start")),
    *(("trial_user_attributes", "key"), ("study_user_attributes", "key"), ("trials", "number")),
    *(("trial_params", "param_name"), ("version_info", "schema_version")),
)


def _altered(path: Path, rng: Random) -> None:
    table, column = rng.choice((*_TABLES, *_TABLES[:3] * 5))
    try:
        with sqlite3.connect(path) as database:
            rows = database.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            if not rows:
                return
            row, found = rng.choice(rows)
            new: Any = rng.choice(
                (*NAMES[:6], "{}", "null", 2**62, -1, None, b"\xff", "inf", 1e308)
            )
            if column.endswith("_json"):
                try:
                    new = json.dumps(mutated([json.loads(found)], rng)[:1])[1:-1]
                except (ValueError, IndexError):
                    new = "null"
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
    except (sqlite3.Error, UnicodeError):
        pass


def command_line(folder: Path, rng: Random) -> Case:
    """Odd sizes, numbers and names among the options."""
    (folder / "mlp.json").write_text((bases.INSTANCES / "mlp.json").read_text())
    odd = rng.choice((*SIZES, *NAMES, "9" * DIGITS, "1e400", "inf", "nan", "-1", "\u0664", "0x1"))
    option = rng.choice(
        (
            *(
                "--spm",
                "--bandwidth",
                "--clock",
                "--page",
                "--throughput",
                "--dma-setup",
                "--banks",
            ),
            *("--bank", "--set", "--param", "--batch", "--time-limit", "--machine", "--technology"),
            *("--objective", "--cover", "--costs", "--lowering", "--dtype", "-o", "--scheduler"),
        )
    )
    given = rng.choice((f"energy.mac_pj={odd}", f"{odd}=1")) if option == "--set" else odd
    given = f"steps={odd}" if option == "--param" else given
    given = f"{odd}:nvsim-sram" if option == "--bank" and rng.random() < 0.7 else given
    given = f"belady-size:granularity={odd}" if option == "--scheduler" else given
    if option in ("--batch", "--param", "--dtype", "--lowering", "--cover"):
        return _case("command line", "solve", "bert-tiny", "-s", "stream", option, given)
    if option == "-o" and given in ("/etc/passwd", "-x", "", " "):
        given = "x/y/z.json"
    more = () if option == "--scheduler" else ("-s", "stream")
    return _case("command line", *SOLVE[:2], *more, option, given)


def ranges(folder: Path, rng: Random) -> Case:
    """Odd lists and ranges of a sweep or of tiles."""
    odd = rng.choice((*SIZES, *NAMES, "1B:1000000000MB:1B", "1:2:x\u00b2", "9" * DIGITS))
    if rng.random() < 0.5:
        words = ("tiles", "--gemm", rng.choice((odd, "0x0x0", "9" * 30 + "x1x1", "8x8x8")))
        return _case("ranges", *words, *rng.choice(((), ("--tile", odd), ("--partition", odd))))
    option = rng.choice(("--spm", "--bandwidth", "--page", "--batch", "--shard", "--tolerance"))
    return _case("ranges", "sweep", _MLP, "-s", "stream", option, odd, "-o", "s.csv")


def no_file(folder: Path, rng: Random) -> Case:
    """In the place of a file: a folder, a pipe, a device, a long name, one that may not be read."""
    kind = rng.choice(("folder", "pipe", "zero", "random", "long", "locked", "loop", "empty"))
    suffix = rng.choice((".json", ".onnx", ".toml", ".yaml", ".csv", ".db", ".pt2", ".cfg", ""))
    name = f"x{suffix}"
    path = folder / name
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "zero" | "random":
            path.symlink_to({"zero": "/dev/zero", "random": "/dev/urandom"}[kind])
        case "long":
            name = "n" * 5_000 + suffix
        case "locked":
            (folder / "in").mkdir()
            name = f"in/{name}"
            (folder / name).write_text("{}")
            (folder / "in").chmod(0)
        case "loop":
            path.symlink_to(path)
        case _:
            path.write_text("")
    words = rng.choice(
        (
            ("solve", name, "-s", "stream"),
            ("solve", _MLP, "-s", "stream", "--machine", name),
            ("solve", _MLP, "-s", "stream", "--technology", name),
            ("solve", _MLP, "-s", "stream", "--costs", name),
            ("solve", "bert-tiny", "-s", "stream", "--cover", name),
            ("solve", _MLP, "-s", "stream", "-o", name),
            ("verify", name),
            ("analyze", name),
            ("report", name, "-o", "r.html"),
            ("plot", name, "-o", "r.svg"),
            ("merge", name, "-o", "m.csv"),
            ("machines", name),
            ("technologies", name, "--capacity", "1MB"),
            ("place", name, "--minimize"),
            ("tiles", name),
            ("tiles", "--gemm", "8x8x8", "--cfg", name),
            ("tune", "show", "--storage", name),
            ("tune", "show", "--storage", f"journal:{name}"),
            ("tune", _MLP, "--space", name, "--workers", "0"),
            ("tune", name, "--space", name, "--workers", "0"),
        )
    )
    return _case(f"no file: {kind}", *words, as_nobody=kind == "locked")


def way_out(folder: Path, rng: Random) -> Case:
    """Names that mean something to a terminal, a spreadsheet or a file system."""
    secret = "hunter2"
    if rng.random() < 0.25:
        url = rng.choice(
            (
                f"postgresql://me:{secret}@127.0.0.1:1/none",
                f"mysql://me:{secret}@127.0.0.1:1/none",
                f"nosuch://me:{secret}@127.0.0.1/none",
                f"postgresql://me:{secret}@[::1/none",
                f"sqlite://me:{secret}@x/none",
            )
        )
        return _case("way out", "tune", "show", "--storage", url, secret=secret)
    (folder / "s.toml").write_bytes(toml_text(bases.SPACE))
    if rng.random() < 0.35:
        study = rng.choice(
            ("../../X", "/tmp/fuzz-X", "..", "=HYPERLINK(1)", "\x1b[31mX", "a" * 5000)
        )
        return _case(
            *("way out", "tune", _MLP, "--space", "s.toml", "--trials", "1", "--workers", "0"),
            *("-s", "stream", "--storage", "t.db", "--study", study),
        )
    document = json.loads(json.dumps(bases.instance()))
    odd = rng.choice(
        ("=HYPERLINK(1)", "@SUM(A1)", "+1+cmd", "-2+3", "\t=1", "\x1b[31mX\x07", "\u202eX")
    )
    document["operations"]["name"][0] = odd
    document["tensors"]["name"][0] = odd
    document["name"] = document["machine"]["name"] = odd
    document["source"] = document["machine"]["source"] = odd
    (folder / "i.json").write_bytes(json_text(document))
    words = (
        ("analyze", "i.json", "-s", "belady", "--csv", "a.csv"),
        ("analyze", "i.json", "-s", "belady", "--per", "layer", "--csv", "a.csv"),
        ("compare", "i.json", "-s", "stream,belady", "-o", "runs"),
        ("tune", "i.json", "--space", "s.toml", "--trials", "1", "--workers", "0", "-s", "stream"),
        ("solve", "i.json", "-s", "stream"),
    )
    return _case("way out", *rng.choice(words))


RECIPES: dict[Recipe, int] = {
    **{instance: 14, result: 14, json_nest: 4, machine: 8, toml_nest: 8, technology: 4, space: 6},
    **{project: 2, operators: 3, cover: 4, yaml_machine: 5, sweep_rows: 7, buffers: 6, topology: 5},
    **{costs: 4, network: 20, storage: 14, command_line: 14, ranges: 4, no_file: 12, way_out: 6},
}
"""Recipes, and how often each is drawn."""


def drawn(seed: int, number: int) -> tuple[Recipe, Random]:
    """Return the recipe and the random numbers of a case."""
    rng = random.Random(f"{seed}/{number}")
    return rng.choices(list(RECIPES), list(RECIPES.values()))[0], rng
