"""What a technology takes in terms of the baseline's, workload by workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean

from spmopt.studies.rows import Rows, number
from spmopt.studies.words import listing
from spmopt.sweep.rows import Row

BASE = "sram"
Of = Callable[[Row], float]
Case = tuple[str, bool, int]
"""Network, whether it trains, batch size."""


def dynamic(row: Row) -> float:
    """Energy of reads and writes of the scratchpad."""
    return number(row, "spm_read_j") + number(row, "spm_write_j")


def leakage(row: Row) -> float:
    """Energy that leaks."""
    return number(row, "leakage_j")


def energy(row: Row) -> float:
    """All energy of the scratchpad."""
    return dynamic(row) + leakage(row)


def system(row: Row) -> float:
    """Energy of scratchpad, DRAM and arithmetic."""
    return energy(row) + number(row, "dram_j") + number(row, "mac_j")


def time(row: Row) -> float:
    """Time in which the scratchpad leaks."""
    return number(row, "time_s")


def edp(row: Row) -> float:
    """Energy-delay product of the scratchpad alone."""
    return energy(row) * number(row, "time_s")


def edp_dram(row: Row) -> float:
    """Energy-delay product with energy and latency of the DRAM."""
    return (energy(row) + number(row, "dram_j")) * delay(row)


def delay(row: Row) -> float:
    """Time with the latency of the DRAM."""
    return number(row, "time_s") + number(row, "dram_s")


def traffic(row: Row) -> float:
    """Bytes over the DRAM boundary."""
    return number(row, "dram_bytes")


def area(row: Row) -> float:
    """Area of the scratchpad."""
    return number(row, "area_mm2")


def write_energy(row: Row) -> float:
    """Energy of writes of the scratchpad."""
    return number(row, "spm_write_j")


def read_share(rows: Rows) -> float:
    """Part of reads in the baseline's dynamic energy, mean of workloads."""
    return mean(number(row, "spm_read_j") / dynamic(row) for row in rows.where(role=BASE))


def relative(rows: Rows, role: str, of: Of, base: str = BASE) -> dict[Case, float]:
    """Of each workload what ``role`` takes over what ``base`` takes.

    ``rows`` are of one reading and scheduler, and have one of each role and workload.
    """
    known = {_case(row): of(row) for row in rows.where(role=base)}
    return {_case(row): of(row) / known[_case(row)] for row in rows.where(role=role)}


def across(rows: Rows, others: Rows, of: Of, role: str = BASE) -> dict[Case, float]:
    """Of each workload what ``role`` takes in ``rows`` over what it takes in ``others``."""
    known = {_case(row): of(row) for row in others.where(role=role)}
    return {_case(row): of(row) / known[_case(row)] for row in rows.where(role=role)}


def less(of: Mapping[Case, float]) -> float:
    """How many times less: one over the mean of what is left, as charts against 1 show it."""
    return 1 / mean(of.values())


def compared(factors: Sequence[float], digits: int = 2) -> str:
    """How many times less each is, as ``1.39 and 2.17 times less``; under 1 how many times more."""
    words = ["more" if round(1 / factor, digits) > 1 else "less" for factor in factors]
    numbers = [
        f"{1 / factor if word == 'more' else factor:.{digits}f}"
        for factor, word in zip(factors, words, strict=True)
    ]
    if len(set(words)) == 1:
        return f"{listing(numbers)} times {words[0]}"
    return listing([f"{n} times {word}" for n, word in zip(numbers, words, strict=True)])


def best(of: Mapping[Case, float]) -> float:
    """How many times less where it is least."""
    return 1 / min(of.values())


def more(of: Mapping[Case, float]) -> float:
    """How many times as much, on average."""
    return mean(of.values())


def name_of(case: Case) -> str:
    """As ``vgg16 T``: I for inference, T for training, as the paper's charts have it."""
    network, training, _ = case
    return f"{network} {'T' if training else 'I'}"


def _case(row: Row) -> Case:
    return str(row["network"]), bool(row["training"]), int(number(row, "batch"))


def leak_share(rows: Rows, role: str = BASE) -> float:
    """Part of leakage in the energy of a scratchpad, mean of workloads."""
    return mean(leakage(row) / energy(row) for row in rows.where(role=role))
