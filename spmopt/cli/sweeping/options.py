"""The options of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Option

from spmopt.cli.options import (
    MACHINE,
    NETWORK,
    AssumePointwise,
    Clock,
    Duplex,
    Networks,
    Optimizer,
    Param,
    Training,
)


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What is swept: texts that may be comma lists, and ranges as START:STOP:STEP."""

    networks: Networks
    training: Training = False
    batch: Annotated[
        str | None, Option(help="Batch sizes, as 8:256:x2.", rich_help_panel=NETWORK)
    ] = None
    optimizer: Optimizer = None
    param: Param = None
    assume_pointwise: AssumePointwise = False
    lowering: Annotated[
        str | None, Option(help="tiled (default) or ideal.", rich_help_panel=NETWORK)
    ] = None
    machine: Annotated[
        str | None,
        Option(help="Names or TOML files; default: rtx2080ti.", rich_help_panel=MACHINE),
    ] = None
    spm: Annotated[
        str | None, Option(help="Scratchpad sizes, as 24MB:1000MB:2MB.", rich_help_panel=MACHINE)
    ] = None
    bandwidth: Annotated[
        str | None, Option(help="As 616GB/s,1555GB/s.", rich_help_panel=MACHINE)
    ] = None
    throughput: Annotated[
        str | None, Option(help="As 13.45TFLOP/s,23.04TFLOP/s.", rich_help_panel=MACHINE)
    ] = None
    clock: Clock = None
    page: Annotated[str | None, Option(help="As 4KiB:64KiB:x2.", rich_help_panel=MACHINE)] = None
    dma_setup: Annotated[
        str | None, Option(help="Cycles, as 0:1000:250.", rich_help_panel=MACHINE)
    ] = None
    duplex: Duplex = None
    technology: Annotated[
        str | None,
        Option(
            help="Of the scratchpad: names (see 'spmopt technologies') or TOML files.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    banks: Annotated[
        str | None,
        Option(
            help="How many banks of the one technology work at a time, as 8:64:x2. Parts with "
            "their own technologies: --set 'bank=1MB:nvsim-sram,4MB:nvsim-stt'.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    set: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=VALUES",
            help="Any setting of a machine file, as energy.mac_pj=1,2; may be repeated.",
            rich_help_panel=MACHINE,
        ),
    ] = None
