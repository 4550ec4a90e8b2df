"""The options that several commands share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from spmopt.core.objective import OBJECTIVES

NETWORK, MACHINE, _BUDGET = "Network", "Machine", "Search"
"""Panels of the help."""

Networks = Annotated[
    list[str],
    Argument(
        metavar="NETWORK",
        help="Names, ONNX files, or instances as JSON.",
        show_default=False,
    ),
]
Training = Annotated[bool, Option("--training", help="One training step.", rich_help_panel=NETWORK)]
Optimizer = Annotated[
    str | None, Option(help="sgd, momentum or adam; default: none.", rich_help_panel=NETWORK)
]
Param = Annotated[
    list[str] | None,
    Option(
        metavar="NAME=N",
        help="Parameter of the network, as steps=50; may be repeated.",
        rich_help_panel=NETWORK,
    ),
]
AssumePointwise = Annotated[
    bool,
    Option(
        "--assume-pointwise",
        help="Take operators without a rule for point-wise.",
        rich_help_panel=NETWORK,
    ),
]
Clock = Annotated[str | None, Option(help="As 1545MHz.", rich_help_panel=MACHINE)]
Duplex = Annotated[
    bool | None,
    Option(help="Reads and writes have the bandwidth each.", rich_help_panel=MACHINE),
]


def choices(lead: str, phrases: Mapping[str, str]) -> str:
    """Help of an option: ``lead``, and a line for each value with a phrase on what it means."""
    return "\n\n".join((lead, *(f"{name} - {phrase}" for name, phrase in phrases.items())))


_OBJECTIVES = {name: entry.summary for name, entry in OBJECTIVES.items()}
_LOWERINGS = {
    "tiled": "a product keeps its smallest operand on chip; larger ones go in panels (default)",
    "ideal": "every operand crosses the DRAM boundary once, whatever its size",
}


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Settings in place of a machine's own."""

    spm: Annotated[
        str | None, Option(help="Scratchpad size, as 24MB or 24MiB.", rich_help_panel=MACHINE)
    ] = None
    bandwidth: Annotated[
        str | None, Option(help="DRAM bandwidth, as 616GB/s.", rich_help_panel=MACHINE)
    ] = None
    throughput: Annotated[
        str | None, Option(help="Compute rate, as 13.45TFLOP/s.", rich_help_panel=MACHINE)
    ] = None
    clock: Clock = None
    page: Annotated[
        str | None, Option(help="Granule of the scratchpad, as 4KiB.", rich_help_panel=MACHINE)
    ] = None
    dma_setup: Annotated[
        int | None, Option(help="Cycles a DMA command takes to start.", rich_help_panel=MACHINE)
    ] = None
    duplex: Duplex = None
    technology: Annotated[
        str | None,
        Option(
            help="Of the scratchpad: name (see 'spmopt technologies') or TOML file.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    banks: Annotated[
        int | None,
        Option(
            help="How many banks of the one technology work at a time, an access each; default: "
            "as many as it takes. A part of the scratchpad with its own technology is a --bank.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    set: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=VALUE",
            help="Any setting of a machine file, as energy.mac_pj=1.5; may be repeated.",
            rich_help_panel=MACHINE,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """What is scheduled, on which machine."""

    network: Annotated[
        str, Argument(help="Name (see 'spmopt networks'), ONNX file, or instance as JSON.")
    ]
    training: Training = False
    batch: Annotated[
        int | None, Option(help="Batch size; default: the network's.", rich_help_panel=NETWORK)
    ] = None
    optimizer: Optimizer = None
    param: Param = None
    assume_pointwise: AssumePointwise = False
    lowering: Annotated[
        str | None,
        Option(help=choices("How operations use DRAM:", _LOWERINGS), rich_help_panel=NETWORK),
    ] = None
    machine: Annotated[
        str | None,
        Option(
            help="Name (see 'spmopt machines') or TOML file; default: rtx2080ti.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    changes: Changes = field(default_factory=Changes)
    bank: Annotated[
        list[str] | None,
        Option(
            metavar="SIZE:TECHNOLOGY[:PORTS]",
            help="A part of the scratchpad with a technology of its own, as 2MB:nvsim-sram; may be "
            "repeated. Streams pass by the first. With ports, its accesses take time. How many "
            "banks of one technology work at a time is said by --banks.",
            rich_help_panel=MACHINE,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is minimised, and how long."""

    objective: Annotated[
        str, Option(help=choices("What to minimise:", _OBJECTIVES), rich_help_panel=_BUDGET)
    ] = "time"
    time_limit: Annotated[
        float, Option(help="Seconds for each scheduler.", rich_help_panel=_BUDGET)
    ] = 60.0
    tolerance: Annotated[
        float, Option(help="Gap at which a schedule counts as optimal.", rich_help_panel=_BUDGET)
    ] = 1e-4
    threads: Annotated[int, Option(help="Threads a solver may use.", rich_help_panel=_BUDGET)] = 2


Json = Annotated[bool, Option("--json", help="Print JSON.")]
Output = Annotated[
    Path, Option("--output", "-o", help="File to write; one of that name is replaced.")
]
