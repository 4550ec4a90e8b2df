"""The options of the command that computes gradients in tiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from spmopt.cli.options import MACHINE, NETWORK, AssumePointwise, Changes, Param

TILES, SEARCH = "Tiles", "Search"
"""Panels of the help."""
ORDERS = "sequential,interleaved,dx-major,dw-major,algorithm-1"


@dataclass(frozen=True, kw_only=True)
class Layers:
    """Which layers."""

    source: Annotated[
        str | None,
        Argument(
            metavar="LAYERS",
            help="Network (see 'spmopt networks'), ONNX file, or SCALE-Sim topology (.csv). "
            "Convolutions are products of im2col rows.",
        ),
    ] = None
    gemm: Annotated[
        str | None,
        Option(
            metavar="MxKxN",
            help="One layer instead: X (M, K) times W (K, N).",
            rich_help_panel=NETWORK,
        ),
    ] = None
    batch: Annotated[
        int | None,
        Option(
            help="Batch size, of all cores together; default: the network's, 1 for a topology.",
            rich_help_panel=NETWORK,
        ),
    ] = None
    param: Param = None
    assume_pointwise: AssumePointwise = False
    products_of_activations: Annotated[
        bool,
        Option(
            "--products-of-activations",
            help="Include a network's products of two activations (attention): both gradients "
            "are of activations, named dX and dW all the same.",
            rich_help_panel=NETWORK,
        ),
    ] = False
    only: Annotated[
        str | None,
        Option(help="Layers whose names contain these words.", rich_help_panel=NETWORK),
    ] = None
    all_input_gradients: Annotated[
        bool,
        Option(
            "--all-input-gradients",
            help="Compute dX of first layers too, which nothing needs.",
            rich_help_panel=NETWORK,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Tiled:
    """How they are run."""

    order: Annotated[
        str,
        Option(
            "--order",
            help="Some, separated by commas: sequential, interleaved, dx-major, dw-major; "
            "algorithm-1, one of these four by the layer's shape; best of the four, by running "
            "each under the replacement; searched, by local search over walks from the best under "
            "double buffering; optimal, by search of all orders (64 tile products of 64 tiles at "
            "most), the least traffic under optimal residency; or one of the four with walks of "
            "its own, as interleaved:dx=kij~:dw=kij@2x4x2/jki: loops from the outermost, i along "
            "M, k along K, j along N; ~ turns round at the end of a loop; @2x4x2 goes by blocks of "
            "so many tiles along i, k, j; /jki are the loops over blocks. Default: the four and "
            "algorithm-1.",
            show_default=False,
            rich_help_panel=TILES,
        ),
    ] = ORDERS
    replacement: Annotated[
        str,
        Option(
            help="What stays in the scratchpad, by some schedulers: double-buffer, lru, belady, "
            "page (optimal, with a bound of the order), ...",
            rich_help_panel=TILES,
        ),
    ] = "double-buffer"
    partition: Annotated[
        str | None,
        Option(
            help="Some of none, m/2, k/2, n/2 (any number of parts, at most one a row of tiles) "
            "and best (under double buffering, of none, 2 and 4 parts, on several cores CORES); "
            "default: none, on several cores m/CORES.",
            rich_help_panel=TILES,
        ),
    ] = None
    cores: Annotated[
        int,
        Option(help="Cores; SPM, bandwidth and rate grow as well.", rich_help_panel=TILES),
    ] = 1
    tile: Annotated[
        str | None,
        Option(
            metavar="MxKxN",
            help="Size of tiles; default: chosen for each layer and order, under double buffering.",
            rich_help_panel=TILES,
        ),
    ] = None
    element_bytes: Annotated[int, Option(help="Bytes of an element.", rich_help_panel=TILES)] = 4
    add_early: Annotated[
        bool,
        Option(
            "--add-early",
            help="On several cores, add partial sums once they are complete, not at the end.",
            rich_help_panel=TILES,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """On which machine."""

    machine: Annotated[
        str | None,
        Option(
            help="Name (see 'spmopt machines') or TOML file; default: small-npu.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    cfg: Annotated[
        Path | None,
        Option(
            help="SCALE-Sim .cfg: its array, SRAM and, with InterfaceBandwidth USER, bandwidth (of "
            "three interfaces) replace those of --machine.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    changes: Changes = field(default_factory=Changes)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What is minimised, by how many."""

    objective: Annotated[
        str,
        Option(help="time or traffic: what choices minimise.", rich_help_panel=SEARCH),
    ] = "time"
    time_limit: Annotated[
        float,
        Option(help="Seconds of a replacement that optimises, a layer.", rich_help_panel=SEARCH),
    ] = 60.0
    tolerance: Annotated[
        float, Option(help="Gap at which such a one may stop.", rich_help_panel=SEARCH)
    ] = 1e-4
    jobs: Annotated[
        int | None, Option(help="Processes; default: all processors.", rich_help_panel=SEARCH)
    ] = None
