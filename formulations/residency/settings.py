"""How a search for residency works."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

Rates = tuple[float, float]
"""Of the first and of the last of some subgradient steps."""

# Short stages: a bound within the first tenth of a second, from which the last one begins.
_SOON: tuple[tuple[int, Rates], ...] = ((50, (0.05, 0.02)), (100, (0.1, 0.003)))


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Work of windows to close a ``gap``.

    ``stages`` of subgradient steps come first, each from the best dual values so far: the first
    ones are short, for a bound soon, and cost the last one nothing. ``again`` comes before each
    sweep but the first; columns are those of the last ``samples``. A window looks ``overlap`` steps
    beyond those that it decides; see ``Span`` for ``part``.
    """

    gap: float
    stages: tuple[tuple[int, Rates], ...] = (*_SOON, (350, (0.1, 0.0002)))
    again: tuple[int, Rates] = (1500, (0.2, 0.0002))
    samples: int = 20
    overlap: int = 30
    part: int = 25


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the search works, beside :class:`~spmopt.core.params.ResidencyParams`.

    ``accuracy``: tolerance of the interior-point method at first; ``threshold``: marginal
    up to which columns enter, as a share of the dual value of a byte; ``depth``: see
    ``candidates``; ``margin``: share of the SPM left free for the solver's tolerance; ``tie``: see
    ``master``, and at most a third of the gap asked for; ``warm``: subgradient steps
    from dual values that are given, and ``samples`` of them whose columns are kept. Problems of
    more than ``small`` accesses take more steps (cheap beside their programs), no columns but the
    sampled ones at first, and ``polish`` steps after each program; programs above ``small_program``
    columns go to HiPO, not IPX. ``idle`` rounds in a row that find no new columns, and close less
    than 3 % of the gap, end the search; a program of bytes may follow the one of pages.

    Above some steps (``large_of_fluid`` of the relaxation, whose gaps are smaller, and
    ``large_of_bytes`` where cycles cost nothing, which programs decide
    sooner: GNMT of 3,583 operations, 1.5 s for 4.9, unless a gap of ``loose`` will do) windows
    come before a program over all of them, by the last of ``efforts`` whose gap is not above that
    asked for: the first sweep is over windows that decide some steps, the others
    over windows at least twice as wide, and as wide as bytes remain on chip (see
    ``RankedIntervals.reach``) up to ``widest``, with columns up to the marginal ``near``, while
    each closes a ``gain`` of the gap. The program follows where it has no more columns than
    ``large_program``.
    """

    accuracy: float = 1e-4
    threshold: float = 0.2
    depth: int = 2
    margin: float = 1e-5
    tie: float = 1e-4
    rounds: int = 30
    idle: int = 3
    warm: int = 25
    long_ascent: int = 300
    samples: int = 20
    polish: int = 50
    small: int = 10_000
    small_program: int = 50_000
    large_of_fluid: int = 2_000
    large_of_bytes: int = 10_000
    efforts: tuple[Effort, ...] = (
        Effort(gap=0.0),
        Effort(gap=1e-2, stages=(*_SOON, (100, (0.05, 0.0005))), samples=6, part=60),
    )
    widest: int = 800
    near: float = 0.01
    gain: float = 0.1
    loose: float = 2e-3
    large_program: int = 200_000


def interior_point_method(large: bool) -> str:
    """Choose the method: IPX is faster on small programs, HiPO on large ones.

    Without the package highspy-extras HiGHS would silently take the simplex method instead.
    """
    return "hipo" if large and find_spec("highspy_extras") is not None else "ipx"
