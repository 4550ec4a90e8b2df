"""Figures of Tsai's thesis, chapter 5."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.studies.paper import TITLES

LIMIT = 10.0
"""Points of deviation from which on a figure counts as missed."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A figure of the thesis, in percent.

    ``kind`` is what changes with the capacity from 24 MB on (``traffic``, ``time``), what more
    throughput gives at 24 MB (``faster``), or a share of one schedule (``type2``, ``captured``).
    """

    kind: str
    network: str
    paper: float
    at_mb: int
    at_most: bool = False

    @property
    def text(self) -> str:
        """What is claimed."""
        name = TITLES[self.network]
        return {
            "traffic": f"{name}: traffic, 24 to {self.at_mb} MB",
            "time": f"{name}: time, 24 to {self.at_mb} MB",
            "faster": f"{name}: speed, 13.45 to 23.04 TFLOP/s, 24 MB",
            "type2": f"{name}: point-wise share of time, 24 MB",
            "captured": f"{name}: adjacent and block reuse captured, {self.at_mb} MB",
        }[self.kind]

    @property
    def brief(self) -> str:
        """The same in two words, for sentences."""
        words = {"type2": "point-wise share", "captured": "captured reuse", "faster": "speed"}
        return f"{TITLES[self.network]}'s {words.get(self.kind, self.kind)}"

    @property
    def is_share(self) -> bool:
        """Whether it is of one schedule, and in no row."""
        return self.kind in ("type2", "captured")

    @property
    def told(self) -> str:
        """The figure as tables show it."""
        return f"{'< ' if self.at_most else ''}{self.paper:{self.sign}.4g}"

    @property
    def sign(self) -> str:
        """Of changes the sign is shown."""
        return "" if self.is_share else "+"

    def deviation(self, found: float) -> float:
        """Points between what was found and the claim."""
        return max(0.0, found - self.paper) if self.at_most else found - self.paper

    def is_missed_by(self, found: float) -> bool:
        """Whether it deviates by more than the limit."""
        return abs(self.deviation(found)) > LIMIT


def _claim(kind: str, network: str, paper: float, at_mb: int = 24, at_most: bool = False) -> Claim:
    return Claim(kind=kind, network=network, paper=paper, at_mb=at_mb, at_most=at_most)


CLAIMS = (
    _claim("traffic", "transformer", -67.0, 128),
    _claim("captured", "transformer", 100.0, 180),
    _claim("traffic", "resnet50", -70.0, 296),
    _claim("traffic", "mobilenetv2", -70.0, 442),
    _claim("traffic", "gnmt", -96.6, 500),
    _claim("time", "resnet50", -48.1, 500),
    _claim("time", "transformer", -26.5, 500),
    _claim("time", "mobilenetv2", -69.6, 500),
    _claim("time", "gnmt", -81.1, 500),
    _claim("faster", "resnet50", 20.0),
    _claim("faster", "transformer", 40.0),
    _claim("faster", "mobilenetv2", 10.0, at_most=True),
    _claim("faster", "gnmt", 10.0, at_most=True),
    _claim("type2", "resnet50", 46.15),
    _claim("type2", "transformer", 26.69),
)
