"""Rules of mapper by name, and the graph that each of them takes."""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.problem import TensorKind
from spmopt.graph.attention import fuse_attention
from spmopt.graph.folding import fold
from spmopt.graph.in_place import update_in_place
from spmopt.graph.interleaving import interleave_gradients
from spmopt.graph.normalization import split_normalizations

LOWERINGS = ("choose", "tiled", "panel", "weights", "ideal")
"""Rules that make a problem of a graph; the first is the default."""
_UNFOLDED = {"choose": "choose-unfolded", "tiled": "tiled-unfolded"}
"""Names of rules that fold an inference graph, where it is taken as it stands."""
INTERLEAVED = {"choose": "choose-interleaved", "tiled": "tiled-interleaved"}
"""Names of rules that make the two gradients of a layer one operation."""
CHOOSE = ("choose", _UNFOLDED["choose"], INTERLEAVED["choose"])
"""Rules by which each operation may choose among mappings."""
TILED = (*_UNFOLDED, *_UNFOLDED.values(), *INTERLEAVED.values())
_BACKWARD = TensorKind.GRADIENT, TensorKind.WEIGHT_GRADIENT


def with_name(mapper: str | None = None, *, fold: bool = True) -> str:
    """Return the name of a mapper in results, by default the first.

    Raises
    ------
    InputError
        There is none of that name.
    """
    if mapper not in (None, *LOWERINGS, *TILED):
        known = f"{', '.join(LOWERINGS[:-1])} or {LOWERINGS[-1]}"
        raise InputError(f"mapper {mapper!r} is unknown; use {known}")
    found = mapper or LOWERINGS[0]
    return found if fold else _UNFOLDED.get(found, found)


def prepare(graph: Graph, mapper: str, machine: Machine | None = None) -> Graph:
    """Return the graph whose nodes become operations; of a prepared one, itself.

    ``choose`` and ``tiled`` fold an inference graph (:mod:`spmopt.graph.folding`), make attention
    one node (:mod:`spmopt.graph.attention`), split the
    normalizations of a training graph (:mod:`spmopt.graph.normalization`), and let results take the
    bytes of operands that die (:mod:`spmopt.graph.in_place`), but not on a ``machine`` on which
    that may cost a command or a move. ``choose-interleaved`` and ``tiled-interleaved`` also make
    the two gradients of a layer one node (:mod:`spmopt.graph.interleaving`).
    """
    if mapper not in TILED:
        return graph
    # Folding would change the forward pass whose results the backward pass reads.
    if any(value.kind in _BACKWARD for value in graph.values):
        graph = split_normalizations(graph)
        # Tilings of both gradients need a tile of each operand on chip.
        if mapper in INTERLEAVED.values() and not (machine and machine.bypass):
            graph = interleave_gradients(graph)
    elif mapper not in _UNFOLDED.values():
        graph = fold(graph)
        # Operands that bypass the scratchpad have no blocks in it.
        if machine is None or not machine.bypass:
            graph = fuse_attention(graph)
    # With set-ups each command costs, and with banks operand and result may lie in different ones.
    apart = machine is not None and (machine.dma_setup_cycles > 0 or machine.banks)
    return graph if mapper in _UNFOLDED.values() or apart else update_in_place(graph)
