"""Warnings about a study, given before its search."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from spmopt.core.errors import InputError
from spmopt.core.machine import ENERGY_FIGURES, Machine
from spmopt.hardware.scratchpad import disagreement, sources_of
from spmopt.hardware.settings import BANK, Setting, read_banks, split_banks
from spmopt.hardware.technologies import load_technology
from spmopt.search.candidate import Candidate
from spmopt.search.figures import STATIC, needs, static_figures
from spmopt.search.setup import Setup
from spmopt.search.space import Space

_LOOKED_AT = 64
"""Points of a space that are looked at."""


def cautions(setup: Setup) -> Iterator[str]:
    """Yield a warning for each likely misreading of the search."""
    mixed = disagreement(_sources(setup.space))
    if mixed is not None:
        yield mixed
    if _is_bandwidth_free(setup):
        yield (
            "bandwidth costs nothing in this search, so that none but the highest can lead; give "
            "it a price, as area.mm2_per_gbps = 0.1 in [space], or gbps = 0.1 in [cost] "
            "and the "
            "objective cost"
        )
    if setup.energy_aside:
        yield (
            f"{' and '.join(setup.energy_aside)}: schedules minimize {setup.schedule_for}, and "
            "their energy is what they happen to take; --schedule-for energy minimizes it"
        )


def require_energies(setup: Setup) -> None:
    """Raise unless energy, where figures depend on it, is more than nothing.

    Machines that come with the program have energies; a stored problem has those of its file.

    Raises
    ------
    InputError
        A stored problem without any of them, in a space that gives none.
    """
    asked = [name for name in setup.names if "energy" in needs(name)]
    if setup.schedule_for == "energy":
        asked.append("energy_j")
    stored = [network.label for network in setup.networks if network.is_lowered]
    if not asked or not stored:
        return
    machines = [each.machine for each in _candidates(setup.space)]
    # Without a possible machine, the error of the space itself is clearer.
    if not machines or any(_has_energies(machine) for machine in machines):
        return
    keys = ", ".join(f"energy.{name}" for name in ENERGY_FIGURES)
    raise InputError(
        f"{asked[0]}: the machine of {stored[0]} spends no energy, its {keys} are 0; give them in "
        "[space], as energy.dram_pj_per_byte = 230.0"
    )


def _has_energies(machine: Machine) -> bool:
    own = any(getattr(machine.energy, name) for name in ENERGY_FIGURES)
    return own or any(
        bank.read_pj_per_byte or bank.write_pj_per_byte or bank.leakage_w for bank in machine.banks
    )


def _sources(space: Space) -> set[str]:
    """Return the sources of all technologies that fields name, else of the machine's."""
    choices: dict[str, list[Setting]] = {key: [value] for key, value in space.fixed.items()}
    choices |= {axis.key: list(axis.choices) for axis in space.axes}
    names = [str(value) for value in choices.get("technology", [])]
    banks = [text for value in choices.get(BANK, []) for text in split_banks(str(value))]
    found = {load_technology(name).source for name in names}
    found |= {bank.technology.source for bank in read_banks(banks, BANK)}
    return found or set(sources_of(space.machine))


def _candidates(space: Space) -> Iterator[Candidate]:
    """Yield machines at some points of the space."""
    found = map(space.possible, islice(space.points(), _LOOKED_AT))
    return (candidate for candidate in found if candidate is not None)


def _is_bandwidth_free(setup: Setup) -> bool:
    """Return whether time is weighed against figures of the machine that bandwidth has no part in.

    More bandwidth never makes the optimum later. Of other figures of schedules, as power, less may
    come of less bandwidth.
    """
    names = setup.objectives
    weighed = len(names) > 1 and "time_s" in names and {*names} <= {"time_s", *STATIC}
    return weighed and _is_idle(setup.space, "bandwidth", names)


def _is_idle(space: Space, key: str, names: tuple[str, ...]) -> bool:
    """Return whether ``key`` is searched, and no static figure of ``names`` changes with it."""
    axis = next((each for each in space.axes if each.key == key), None)
    if axis is None:
        return False
    known = 0
    for point in islice(space.points(), _LOOKED_AT):
        try:
            found = [
                static_figures(names, space.candidate({**point, key: end}), space.cost)
                for end in axis.ends
            ]
        # An impossible end says nothing about the price of bandwidth.
        except InputError:
            continue
        known += 1
        if any(each != found[0] for each in found):
            return False
    return known > 0
