"""CSV: sweeps, buffers, topologies, costs."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import bases
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import DIGITS, damaged

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
    words = (("report", "s.csv", "-o", "s.html"), ("merge", "s.csv", "-o", "m.csv"))
    return case(*rng.choice(words))


def drawn_rows(folder: Path, rng: Random) -> Case:
    """Rows of a sweep, as a picture."""
    (folder / "s.csv").write_bytes(_cells(bases.sweep().decode(), rng, 1))
    return case("plot", "s.csv", "-o", "s.svg")


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
        text = (bases.PROBLEMS / "minimalloc/A.1048576.csv").read_text().splitlines()[:12]
        content = _cells("\n".join(text), rng, 0)
    (folder / "b.csv").write_bytes(content)
    words = ("--minimize",) if rng.random() < 0.6 else ("--capacity", rng.choice(("1MB", "1KiB")))
    return case("allocate", "b.csv", *words, "--time-limit", "0.1", "-o", "o.csv")


def topology(folder: Path, rng: Random) -> Case:
    """Layers of SCALE-Sim."""
    text = (bases.PROBLEMS / "scalesim/lenet5.csv").read_text()
    (folder / "t.csv").write_bytes(_cells("\n".join(text.splitlines()[:3]), rng, 0))
    words = ("--machine", "large-npu", "--order", "interleaved", "-o", "rows.csv")
    return case("tiles", "t.csv", *words, "--jobs", "1")


def costs(folder: Path, rng: Random) -> Case:
    """Costs of operations, from a simulator."""
    names = bases.problem("mlp")["operations"]["name"][:3]
    text = "operation,mapping,cycles,scratch_bytes,energy_pj,dram_bytes\n"
    text += "".join(f"{name},,100,0,5,\n" for name in names)
    (folder / "c.csv").write_bytes(_cells(text, rng, 0))
    return case("solve", bases.MLP, "-s", "stream", "--costs", "c.csv")
