"""TOML, YAML and JSON that are deep, long or of many digits."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import bases, networks
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import DEEP, DIGITS, damaged, mutated


def json_nest(folder: Path, rng: Random) -> Case:
    """JSON that is deep, has many digits, or is none."""
    deep, digits = rng.choice((DEEP, 2_000, 990)), rng.choice((DIGITS, 4_300, 400))
    text = rng.choice(
        (
            *("[" * deep, "[" * deep + "]" * deep, '{"a":' * deep, "", "null", "9" * digits),
            '{"format": "spmopt-problem", "version": ' + "9" * digits + "}",
            '{"format": "spmopt-result", "version": 1e' + "9" * digits + "}",
            *('{"format": "spmopt-problem", "version": true}', '"\\ud800"', "\ufeff{}"),
        )
    )
    (folder / "x.json").write_text(text, encoding="utf-8")
    return case(*_reading(rng, "x.json"))


def long_json(folder: Path, rng: Random) -> Case:
    """JSON of millions of values."""
    inner = rng.choice(("{},", "[],", "1000,", '"",', "[[[1]]],", '{"a":1},'))
    count = rng.choice((100_000, 1_000_000, 3_000_000))
    (folder / "x.json").write_text("[" + inner * count + "1]", encoding="utf-8")
    return case(*_reading(rng, "x.json"))


def _reading(rng: Random, name: str) -> tuple[str, ...]:
    return rng.choice(
        (
            ("solve", name, "-s", "stream"),
            ("verify", name),
            ("solve", bases.MLP, "-s", "stream", "--costs", name),
            ("solve", "bert-tiny", "--batch", "1", "-s", "stream", "--fusion-plan", name),
        )
    )


def toml_nest(folder: Path, rng: Random) -> Case:
    """TOML that is deep, has many digits or dots, or holds odd values."""
    deep, digits = rng.choice((DEEP, 2_000, 300)), rng.choice((DIGITS, 4_300, 1_001, 400))
    text = rng.choice(
        (
            *("a = " + "[" * deep + "]" * deep, "a = " + "{b = " * (deep // 5)),
            *("a." * deep + "b = 1", "[" + "a." * deep + "b]", f"a = {'9' * digits}"),
            "".join(f"[{'a.' * 200}b{k}]\n" for k in range(100)),
            *("a = 0x" + "f" * digits, f"energy.mac_pj = 1{'0' * 400}", "energy.mac_pj = 1e400"),
            *("energy.mac_pj = 0x1" + "0" * 400, f"spm = 1{'0' * digits}"),
            *('spm = "' + "1" * digits + 'B"', 'technology = "' + "t" * 5_000 + '.toml"'),
            *('technology = "a\\u0000.toml"', 'bank = ["8B:a\\u0000.toml"]'),
            *('spm = "8B:32B:x\u00b2"', "a = 1979-05-27T07:32:00Z", "a = nan\nspm = inf"),
            *("\x00", ""),
        )
    )
    return _toml(folder, rng, text)


def long_toml(folder: Path, rng: Random) -> Case:
    """TOML of up to a megabyte."""
    size = rng.choice((1_000, 10_000, 60_000))
    text = rng.choice(
        (
            "a = " + '"' * (3 * size),
            "\n".join(f"k{k} = 1" for k in range(size)),
            "a = [" + "[1]," * (6 * size) + "]",
            "[[a]]\n" * size,
            "".join(f"[{'a.' * 60}b{k}]\n" for k in range(size // 10)),
        )
    )
    return _toml(folder, rng, text)


def _toml(folder: Path, rng: Random, text: str) -> Case:
    (folder / "x.toml").write_text(text, encoding="utf-8")
    kind = rng.choice((0, 0, 0, 1, 2, 2, 3, 4, 5, 6))
    words = (
        ("machines", "x.toml"),
        ("solve", "bert-tiny", "-s", "stream", "--machine", "x.toml"),
        ("technologies", "x.toml", "--capacity", "3MB"),
        ("tune", bases.MLP, "--space", "x.toml", "--trials", "1", "--workers", "0", "-s", "stream"),
        ("solve", "bert-tiny", "--batch", "1", "-s", "stream", "--fusion-plan", "x.toml"),
        ("solve", "x.onnx", "-s", "stream", "--operators", "x.toml"),
        ("solve", bases.MLP, "-s", "stream"),
    )[kind]
    if kind == 5:
        (folder / "x.onnx").write_bytes(networks.written(networks.plain()))
    if kind == 6:
        (folder / "x.toml").rename(folder / "spmopt.toml")
    return case(*words)


_LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 12)
)
"""Few bytes that stand for 9**12 values."""
_YAML = (
    *("[" * 20_000, "a: " * 20_000, "a: " + "9" * DIGITS, "a: " + ":".join("9" * 3_000)),
    *(_LAUGHS, _LAUGHS + "memories: *a11\noperational_array: *a11\n", "a: &a [*a]\ncores: *a\n"),
    *("cores: {0: x.yaml}\noffchip_core_id: 0\n", "? [a, b]\n: 1\n", "a: 2001-13-45\n"),
    *("!!python/object/apply:os.system [id]", "- a\n" * 1_000, "\x07"),
)


def yaml_machine(folder: Path, rng: Random) -> Case:
    """A hardware file of ZigZag."""
    import yaml

    plain = (bases.PROBLEMS / "zigzag/tpu_like.yaml").read_text()
    match rng.randrange(4):
        case 0:
            text = rng.choice(_YAML)
        case 1:
            text = damaged(plain.encode(), rng).decode("latin-1")
        case _:
            text = yaml.safe_dump(mutated(yaml.safe_load(plain), rng), allow_unicode=True)
    (folder / "x.yaml").write_text(text, encoding="utf-8")
    more = () if rng.random() < 0.8 else ("--json",)
    if rng.random() < 0.8:
        return case("machines", "x.yaml", *more)
    return case("solve", bases.MLP, "-s", "stream", "--machine", "x.yaml", *more)
