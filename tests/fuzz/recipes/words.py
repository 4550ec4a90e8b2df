"""Command lines."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import bases
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import DIGITS, NAMES, SIZES

_OPTIONS = (
    *("--spm", "--bandwidth", "--clock", "--page", "--throughput", "--dma-setup", "--banks"),
    *("--bank", "--set", "--param", "--batch", "--time-limit", "--machine", "--technology"),
    *("--objective", "--fusion-plan", "--costs", "--mapper", "--dtype", "-o", "--scheduler"),
)


def command_line(folder: Path, rng: Random) -> Case:
    """Odd sizes, numbers and names among the options."""
    (folder / "mlp.json").write_text(bases.text("mlp"))
    odd = rng.choice((*SIZES, *NAMES, "9" * DIGITS, "1e400", "inf", "nan", "-1", "\u0664", "0x1"))
    option = rng.choice(_OPTIONS)
    given = rng.choice((f"energy.mac_pj={odd}", f"{odd}=1")) if option == "--set" else odd
    given = f"steps={odd}" if option == "--param" else given
    given = f"{odd}:nvsim-sram" if option == "--bank" and rng.random() < 0.7 else given
    given = f"belady-size:granularity={odd}" if option == "--scheduler" else given
    if option == "--batch":
        return case("solve", "bert-tiny", "-s", "stream", option, given)
    if option in ("--param", "--dtype", "--mapper", "--fusion-plan"):
        return case("solve", "bert-tiny", "--batch", "1", "-s", "stream", option, given)
    if option == "-o" and given in ("/etc/passwd", "../../X", "-x", "", " "):
        given = "x/y/z.json"
    more = () if option == "--scheduler" else ("-s", "stream")
    return case("solve", "mlp.json", *more, option, given)


def ranges(folder: Path, rng: Random) -> Case:
    """Odd lists and ranges of a sweep or of tiles."""
    odd = rng.choice((*SIZES, *NAMES, "1B:1000000000MB:1B", "1:2:x\u00b2", "9" * DIGITS))
    if rng.random() < 0.5:
        words = (
            "tiles",
            "--jobs",
            "1",
            "--gemm",
            rng.choice((odd, "0x0x0", "9" * 30 + "x1x1", "8x8x8")),
        )
        return case(*words, *rng.choice(((), ("--tile", odd), ("--partition", odd))))
    option = rng.choice(("--bandwidth", "--page", "--batch", "--shard", "--tolerance"))
    # The size cannot be, so that what else is taken starts no processes.
    return case("sweep", bases.MLP, "-s", "stream", "--spm", "x", option, odd, "-o", "s.csv")


def swept(folder: Path, rng: Random) -> Case:
    """As ranges, of sweeps that may start processes."""
    odd = rng.choice((*SIZES, *NAMES, "1B:1000000000MB:1B", "1:2:x\u00b2", "9" * DIGITS))
    option = rng.choice(("--spm", "--bandwidth", "--page", "--batch", "--shard", "--tolerance"))
    return case("sweep", bases.MLP, "-s", "stream", option, odd, "-o", "s.csv")
