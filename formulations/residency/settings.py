"""What the column generation can be told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the loop works; the defaults are measured.

    ``first`` and ``later``: tolerance of the interior-point method; ``threshold``: marginal
    up to which columns enter, as a share of the price of a byte; ``depth``: see ``Pricer``;
    ``margin``: share of the SPM left free for the solver's tolerance; ``tie``: see
    ``master``, and at most a third of the gap asked for; ``ascent``: subgradient steps, ``warm``
    from prices that are given, and ``samples`` of them whose columns are kept. Instances of more
    than ``small`` accesses take more steps (cheap beside their programs), no columns but the
    sampled ones at first, and ``polish`` steps after each program; programs above
    ``small_program`` columns go to HiPO, not IPX. ``idle`` rounds that close less than 3 % of the
    gap end the search; those that find new columns do not count where it is ``hopeful``, and a
    program of bytes may follow that of pages.
    """

    first: float = 1e-4
    later: float = 1e-4
    threshold: float = 0.2
    depth: int = 2
    margin: float = 1e-5
    tie: float = 1e-4
    rounds: int = 30
    idle: int = 3
    hopeful: bool = True
    ascent: int = 150
    warm: int = 25
    long_ascent: int = 300
    samples: int = 20
    polish: int = 50
    small: int = 10_000
    small_program: int = 50_000
