"""Rows of networks under a technique and a replacement, and what is read off them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from spmopt.studies.gradient_networks import PaperNetwork
from spmopt.studies.gradients.measure import Answer, Asked, Tell, measure
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.gradients.technique import BASELINE, DOUBLE_BUFFER, POTENTIAL, TECHNIQUES
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Known, Measured
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row, Value

COLUMNS = Columns.of(
    {
        "setting": str,
        "machine": str,
        "cores": int,
        "dram_bytes_per_s": int,
        "batch": int,
        "element_bytes": int,
        "dataflow": str,
        "reuse": str,
        "add_early": bool,
        "tiles": str,
        "network": str,
        "technique": str,
        "scheduler": str,
    },
    {
        "spm_bytes": int,
        "layers": int,
        "backward_cycles": int,
        "forward_cycles": int,
        "traffic_bytes": int,
        "forward_bytes": int,
        "read_bytes": int,
        "dy_bytes": int,
        "compulsory_bytes": int,
        "value": float,
        "bound": float,
        "verified": bool,
    },
)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Settings, techniques and replacements, all with each other, for all networks or ``only``."""

    settings: tuple[Setting, ...]
    techniques: tuple[str, ...] = tuple(TECHNIQUES)
    replacements: tuple[str, ...] = (DOUBLE_BUFFER,)
    only: tuple[str, ...] = ()

    def asked(self) -> list[Asked]:
        """By setting, network, replacement, technique."""
        return [
            Asked(setting=setting, network=network, technique=technique, replacement=replacement)
            for setting in self.settings
            for network in setting.networks()
            if not self.only or network.abbreviation in self.only
            for replacement in self.replacements
            for technique in self.techniques
        ]


def measured(*sweeps: Sweep) -> Measured:
    """Rows of sweeps, network by network; a network's choices are made once for all of them."""

    def run(pool: Pool, tell: Tell, known: Known) -> Iterator[Sequence[Row]]:
        networks: dict[tuple[Setting, PaperNetwork], list[Asked]] = {}
        for asked in (each for sweep in sweeps for each in sweep.asked()):
            networks.setdefault((asked.setting, asked.network), []).append(asked)
        for some in networks.values():
            before = [known(_about(each)) for each in some]
            rows = [row for row in before if row is not None]
            yield rows if len(rows) == len(some) else list(map(row_of, measure(some, pool, tell)))

    return Measured(columns=COLUMNS, run=run, what=repr(sweeps))


def row_of(answer: Answer) -> Row:
    """Sums over a network."""
    asked = answer.asked
    backward, forward = answer.sums()
    return {
        **_about(asked),
        "spm_bytes": asked.setting.hardware().spm_bytes,
        "layers": sum(layer.count for layer in asked.layers),
        "backward_cycles": backward.cycles,
        "forward_cycles": forward.cycles,
        "traffic_bytes": backward.traffic_bytes,
        "forward_bytes": forward.traffic_bytes,
        "read_bytes": backward.read_bytes,
        "dy_bytes": backward.dy_bytes,
        "compulsory_bytes": backward.compulsory_bytes,
        "value": float(backward.traffic_bytes),
        "bound": 0.0 if asked.technique == POTENTIAL else float(backward.bound_bytes),
        "verified": True,
    }


def _about(asked: Asked) -> dict[str, Value]:
    """What tells rows apart."""
    setting = asked.setting
    return {
        "setting": setting.name,
        "machine": setting.machine,
        "cores": setting.cores,
        "dram_bytes_per_s": setting.hardware().dram_bytes_per_s,
        "batch": setting.batch or asked.network.batch,
        "element_bytes": setting.element_bytes,
        "dataflow": setting.dataflow,
        "reuse": setting.reuse,
        "add_early": setting.add_early,
        "tiles": setting.tiles,
        "network": asked.network.abbreviation,
        "technique": asked.technique,
        "scheduler": asked.replacement,
    }


def at(rows: Rows, machine: str, replacement: str) -> Rows:
    """Rows of a machine under a replacement."""
    return rows.where(machine=machine, scheduler=replacement)


def cycles(row: Row, *, forward: bool = True) -> float:
    """Both passes, or the backward pass alone."""
    return number(row, "backward_cycles") + (number(row, "forward_cycles") if forward else 0.0)


def saving(
    rows: Rows, technique: str, *, forward: bool = True, column: str = "", base: str = BASELINE
) -> dict[str, float]:
    """Of each network, what a technique saves of the baseline's time, or of a column.

    ``rows`` are of one setting and one replacement.
    """

    def value(network: str, name: str) -> float:
        row = rows.one(network=network, technique=name)
        return number(row, column) if column else cycles(row, forward=forward)

    return {
        network: 1 - value(network, technique) / value(network, base)
        for network in rows.texts("network")
    }


def average(values: Iterable[float] | dict[str, float]) -> float:
    """Mean over networks, each counting the same, as the paper's."""
    return float(mean(values.values() if isinstance(values, dict) else values))
