"""The commands whose output is kept: run in one folder, each in its own process."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command line; ``files`` are what it writes, beside what it prints."""

    name: str
    line: str
    files: tuple[str, ...] = ()
    quick: bool = True


COMMANDS = (
    Command("compare-lstm", "compare instances/lstm.json --json", quick=False),
    Command("compare-lstm-table", "compare instances/lstm.json", quick=False),
    Command(
        "compare-convolution",
        "compare instances/convolution.json --json -o made -s "
        "belady,tsai:prefetch=next,residency:granularity=tensor,residency",
        (
            "made/belady.json",
            "made/tsai:prefetch=next.json",
            "made/residency:granularity=tensor.json",
            "made/residency.json",
        ),
    ),
    Command("compare-mappings", "compare instances/two-modes.json --json --objective energy"),
    Command("compare-duplex", "compare instances/duplex.json --json --objective traffic"),
    Command("replay", "compare instances/mlp.json --json --timing async", quick=False),
    Command(
        "training",
        "compare resnet18 --training --batch 4 --spm 8MB --mapper panel --fusion none --json",
        quick=False,
    ),
    Command(
        "energy",
        "solve mobilenetv2 --batch 2 --spm 2MB --objective energy --technology nvsim-stt "
        "--mapper panel --fusion none --json",
        quick=False,
    ),
    Command(
        "banks",
        "solve alexnet --batch 1 --bank 1MB:nvsim-sram --bank 2MB:nvsim-stt --objective energy "
        "--scheduler banks --mapper panel --json -o banks.json",
        ("banks.json",),
    ),
    Command(
        "pulp",
        "solve instances/mlp.json --scheduler residency:granularity=tensor --backend pulp:cbc "
        "--json",
        quick=False,
    ),
    Command("contiguous", "solve instances/lstm.json --scheduler contiguous --json", quick=False),
    Command(
        "joint",
        "solve instances/take-turns.json --scheduler joint --timing async --json",
        quick=False,
    ),
    Command("infeasible", "solve instances/infeasible.json --json"),
    Command("solve-sheet", "solve instances/residual.json --scheduler residency"),
    Command("verify", "verify page.json --json"),
    Command("verify-sheet", "verify page.json"),
    Command("explain-layers", "explain page.json --per layer"),
    Command("explain", "explain page.json --json"),
    Command("explain-sheet", "explain page.json --top 3"),
    Command("trace", "trace page.json -o trace.json", ("trace.json",)),
    Command("problem", "problem ncf --training --mapper panel -o ncf.json", ("ncf.json",)),
    Command("export", "export instances/lstm.json --objective traffic -o lstm.mps", ("lstm.mps",)),
    Command("networks", "networks --json"),
    Command("machines", "machines --json"),
    Command("schedulers", "schedulers --json"),
    Command("schedulers-table", "schedulers"),
    Command("technologies", "technologies --capacity 3MB --json"),
    Command(
        "place",
        "allocate instances/minimalloc/input.12.csv --minimize --json -o placed.csv",
        ("placed.csv",),
    ),
    Command(
        "tiles",
        "tiles --gemm 256x128x192 --machine small-npu --spm 100KB --replacement "
        "double-buffer,belady,residency --json",
        quick=False,
    ),
    Command(
        "tiles-partition",
        "tiles --gemm 512x256x256 --machine small-npu --partition m/2,n/2 --cores 2 "
        "--order sequential,interleaved,best -o tiles.csv",
        ("tiles.csv",),
        quick=False,
    ),
    Command(
        "sweep",
        "sweep instances/lstm.json --spm 8KB:64KB:8KB -s belady,lp-bound,residency --jobs 1 -o "
        "sweep.csv",
        ("sweep.csv",),
        quick=False,
    ),
    Command(
        "tune",
        "tune alexnet --batch 1 --space space.toml --objective time,area -s residency --trials 12 "
        "--seed 1 --workers 1 --mapper panel --json",
        quick=False,
    ),
    Command("unknown", "solve instances/lstm.json --scheduler beladi"),
)

SPACE = """machine = "rtx2080ti"

[space]
spm = "2MiB:16MiB:2MiB"
bandwidth = ["200GB/s", "616GB/s"]
technology = ["nvsim-sram", "nvsim-stt"]
"""
"""``space.toml`` of the folder where the commands run."""
