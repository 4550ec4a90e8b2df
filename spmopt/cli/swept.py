"""The options of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

_NETWORK, _MACHINE = "Network", "Machine"


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What is swept: texts that may be comma lists, and ranges as START:STOP:STEP."""

    networks: Annotated[
        list[str],
        Argument(
            metavar="NETWORK...",
            help="Names, ONNX files, or instances as JSON.",
            show_default=False,
        ),
    ]
    training: Annotated[
        bool, Option("--training", help="One training step.", rich_help_panel=_NETWORK)
    ] = False
    batch: Annotated[
        str | None, Option(help="Batch sizes, as 8:256:x2.", rich_help_panel=_NETWORK)
    ] = None
    optimizer: Annotated[
        str | None,
        Option(help="sgd, momentum or adam; default: none.", rich_help_panel=_NETWORK),
    ] = None
    param: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=N",
            help="Parameter of the networks, as steps=50; may be repeated.",
            rich_help_panel=_NETWORK,
        ),
    ] = None
    assume_pointwise: Annotated[
        bool,
        Option(
            "--assume-pointwise",
            help="Take operators without a rule for point-wise.",
            rich_help_panel=_NETWORK,
        ),
    ] = False
    lowering: Annotated[
        str | None, Option(help="tiled (default) or ideal.", rich_help_panel=_NETWORK)
    ] = None
    machine: Annotated[
        str | None,
        Option(help="Names or TOML files; default: rtx2080ti.", rich_help_panel=_MACHINE),
    ] = None
    spm: Annotated[
        str | None, Option(help="Scratchpad sizes, as 24MB:1000MB:2MB.", rich_help_panel=_MACHINE)
    ] = None
    bandwidth: Annotated[
        str | None, Option(help="As 616GB/s,1555GB/s.", rich_help_panel=_MACHINE)
    ] = None
    throughput: Annotated[
        str | None, Option(help="As 13.45TFLOP/s,23.04TFLOP/s.", rich_help_panel=_MACHINE)
    ] = None
    clock: Annotated[str | None, Option(help="As 1545MHz.", rich_help_panel=_MACHINE)] = None
    page: Annotated[str | None, Option(help="As 4KiB:64KiB:x2.", rich_help_panel=_MACHINE)] = None
    dma_setup: Annotated[
        str | None, Option(help="Cycles, as 0:1000:250.", rich_help_panel=_MACHINE)
    ] = None
    duplex: Annotated[
        bool | None,
        Option(help="Reads and writes have the bandwidth each.", rich_help_panel=_MACHINE),
    ] = None
    set: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=VALUES",
            help="Any setting of a machine file, as energy.mac_pj=1,2; may be repeated.",
            rich_help_panel=_MACHINE,
        ),
    ] = None
