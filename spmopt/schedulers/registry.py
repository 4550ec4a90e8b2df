"""The registry: every scheduler by name.

``name:option=choice:option=choice`` names a scheduler with its options chosen, ``name@backend``
one with another solver for its program.

Nothing here imports a scheduler: a solver library loads only when its scheduler runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from spmopt.core.errors import InputError, unknown
from spmopt.core.objective import Objective
from spmopt.schedulers.entry import Banks, Entry, Kind
from spmopt.schedulers.options import DOUBLE_BUFFER, GRANULARITY, MSA, TSAI

__all__ = [
    "BEST_RULE",
    "BOUNDER",
    "COMPARED",
    "COMPARED_BANKS",
    "SCHEDULERS",
    "STARTS",
    "Entry",
    "Kind",
    "able",
    "find",
    "start_names",
]

_ENTRIES = (
    Entry(
        name="stream",
        kind=Kind.POLICY,
        target="spmopt.policies:stream",
        summary="keeps nothing: every operand streams every time",
        source="Tsai, minimum caching scheme",
    ),
    Entry(
        name="lru",
        kind=Kind.POLICY,
        target="spmopt.policies:lru",
        summary="evicts the tensor used longest ago; prefetches where DMA time is idle",
        source="Belady 1966, as its baseline",
        options=GRANULARITY,
    ),
    Entry(
        name="belady",
        kind=Kind.POLICY,
        target="spmopt.policies:belady",
        summary="evicts the tensor used furthest ahead; prefetches where DMA time is idle",
        source="Belady 1966; Tsai, section 4",
        options=GRANULARITY,
    ),
    Entry(
        name="belady-size",
        kind=Kind.POLICY,
        target="spmopt.policies:belady_size",
        summary="evicts what loses the fewest bytes per step of absence; prefetches as belady",
        source="Belady 1966, with sizes and write-backs",
        options=GRANULARITY,
    ),
    Entry(
        name="frequency",
        kind=Kind.POLICY,
        target="spmopt.policies:frequency",
        summary="evicts the tensor used least often so far; prefetches where DMA time is idle",
        source="Tabbassum et al., dynamic allocation",
        options=GRANULARITY,
    ),
    Entry(
        name="static",
        kind=Kind.POLICY,
        target="spmopt.policies:static",
        summary="keeps the same tensors for the whole run, best bytes saved per byte",
        source="Tabbassum et al., static allocation",
    ),
    Entry(
        name="msa",
        kind=Kind.POLICY,
        target="spmopt.policies.msa:msa",
        summary="gives room to what operations wait for most; copies in windows of elapsed time",
        source="XLA, memory space assignment",
        options=MSA,
    ),
    Entry(
        name="tsai",
        kind=Kind.POLICY,
        target="spmopt.policies.tsai:tsai",
        summary="belady in depth-first order; prefetches by latency, offloads ahead of need",
        source="Tsai, chapter 4, Listing 1",
        options=TSAI,
    ),
    Entry(
        name="next-layer",
        kind=Kind.POLICY,
        target="spmopt.policies.next_layer:next_layer",
        summary="belady; prefetches for the next operation only, offloads when full",
        source="Tsai, Figures 4.1a and 4.2a",
    ),
    Entry(
        name="autotm",
        kind=Kind.POLICY,
        target="spmopt.policies.autotm:autotm",
        summary="belady; moves at uses, or whole under one operation that hides them",
        source="Hildebrand et al., AutoTM, ASPLOS 2020",
    ),
    Entry(
        name="double-buffer",
        kind=Kind.POLICY,
        target="spmopt.policies.double_buffer:double_buffer",
        summary="computes in one half of the scratchpad while the other is filled (for tiles)",
        source="Kim et al., MICRO 2023, section 4.2",
        options=DOUBLE_BUFFER,
    ),
    Entry(
        name="whole",
        kind=Kind.FORMULATION,
        target="formulations.residency.whole:schedule",
        summary="optimises which tensors stay, all or nothing (integer program)",
        source="problem statement, section 2",
        backends={"pulp": "formulations.second.schedule:schedule"},
    ),
    Entry(
        name="page",
        kind=Kind.FORMULATION,
        target="formulations.residency.page:schedule",
        alone="formulations.residency.page:decided",
        granularity="page",
        summary="optimises how many pages of each tensor stay (priced columns, rounded)",
        source="problem statement, sections 2 and 5",
    ),
    Entry(
        name="contiguous",
        kind=Kind.FORMULATION,
        target="formulations.contiguous.schedule:schedule",
        granularity="contiguous",
        summary="gives each tensor one range of addresses (page's plan, repaired by programs)",
        source="problem statement, section 3, rule R8",
    ),
    Entry(
        name="banks",
        kind=Kind.FORMULATION,
        target="formulations.residency.banks.schedule:schedule",
        granularity="page",
        summary="optimises how many pages stay, and in which bank of the scratchpad (--bank)",
        source="problem statement, section 5, with banks",
        banks=Banks.ONLY,
    ),
    Entry(
        name="joint",
        kind=Kind.FORMULATION,
        target="formulations.joint:schedule",
        summary="optimises order, transfer times and addresses too, of small instances (CP-SAT)",
        source="problem statement, section 3, replay",
        objectives=("replay",),
    ),
    Entry(
        name="fluid",
        kind=Kind.RELAXATION,
        target="formulations.residency.fluid:schedule",
        granularity="fluid",
        summary="bounds all of the above: bytes may stay one by one (linear program)",
        source="problem statement, section 5",
        banks=Banks.BOTH,
    ),
)

SCHEDULERS: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
BEST_RULE = "belady-size:granularity=page"
"""The policy that is mostly the best one."""
COMPARED = tuple(
    name
    for entry in _ENTRIES
    if "makespan" in entry.objectives
    and entry.granularity != "contiguous"
    and entry.name != "double-buffer"
    and entry.takes_banks(False)
    for name in ((BEST_RULE, entry.name) if entry.name == "whole" else (entry.name,))
)
"""Those of a comparison without banks: all that know time, with pages anywhere and not for tiles,
and the best policy."""
COMPARED_BANKS = ("stream", "lru", "belady", "belady-size", "static", BEST_RULE, "banks", "fluid")
"""Those of a comparison with banks."""
STARTS: Mapping[str, tuple[str, ...]] = {
    "whole": ("belady", "belady-size", "stream"),
    "page": ("belady", BEST_RULE, "stream"),
    "banks": ("belady", BEST_RULE, "stream"),
    "contiguous": ("belady", "belady-size", BEST_RULE, "stream"),
    "joint": tuple(
        name
        for entry in _ENTRIES
        if entry.kind is Kind.POLICY
        for name in (
            (entry.name, f"{entry.name}:granularity=page")
            if "granularity" in entry.options
            else (entry.name,)
        )
    ),
}
"""Policies whose best plan an optimiser starts from, by its name."""
BOUNDER = "fluid"
"""Proves the bound when no other scheduler of a run does."""


def start_names(entry: Entry) -> tuple[str, ...]:
    """Policies that ``entry`` starts from."""
    return STARTS[entry.name.partition("@")[0]]


def able(objective: Objective, *, banks: bool = False, bounders: bool = True) -> str:
    """Who takes ``objective``, in words.

    ``banks``: on machines that have some; ``bounders``: a bound is enough.
    """
    kinds = (Kind.FORMULATION, Kind.RELAXATION) if bounders else (Kind.FORMULATION,)
    entries = [entry for entry in _ENTRIES if entry.kind in kinds]
    names = [entry.name for entry in entries if entry.takes(objective) and entry.takes_banks(banks)]
    return ", ".join((*names, "or any policy, as belady")).removeprefix("or ")


def find(name: str) -> Entry:
    """The scheduler called ``name``, as ``tsai:prefetch=next:offload=full`` or ``whole@pulp:cbc``.

    Raises
    ------
    InputError
        No such scheduler, option, choice or backend, with the nearest; an option without a
        choice, or named twice.
    """
    name, at, backend = name.partition("@")
    if at:
        entry = find(name)
        if not entry.backends:
            names = ", ".join(each.name for each in _ENTRIES if each.backends)
            raise InputError(f"scheduler {entry.name}: has no backends; {names} has")
        return entry.on(backend)
    plain, *words = name.split(":")
    if plain not in SCHEDULERS:
        raise unknown("scheduler", plain, SCHEDULERS)
    choices: dict[str, str] = {}
    for word in words:
        option, equals, choice = word.partition("=")
        if not (option and equals and choice):
            raise InputError(f"scheduler {name}: {word!r} is not an option; write option=choice")
        if option in choices:
            raise InputError(f"scheduler {name}: option {option} twice; choose it once")
        choices[option] = choice
    entry = SCHEDULERS[plain]
    return entry.choose(choices) if choices else entry
