"""Banks of a scratchpad as text: ``1MB:nvsim-sram``, with ports ``4MB:nvsim-stt:64``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spmopt.core.bank import Bank
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.units import Dimension, parse_quantity
from spmopt.technology.load import load_technology
from spmopt.technology.machine import BankOf, with_banks

BANK = "bank"
"""Key of the setting; several banks are one text, with commas between them."""


def read_banks(texts: Sequence[str], where: str) -> list[BankOf]:
    """Banks in the order of addresses, from SIZE:TECHNOLOGY[:PORTS] each.

    Raises
    ------
    InputError
        Another form, a size without unit or an unknown technology; ``where`` names the origin.
    """
    return [_read(text.strip(), where) for text in texts]


def split_banks(text: str) -> list[str]:
    """Texts of single banks."""
    return text.split(",")


def join_banks(texts: Sequence[str]) -> str:
    """One text of several banks, without blanks around them."""
    return ",".join(text.strip() for text in texts)


def banks_text(machine: Machine) -> str:
    """The banks of ``machine`` as :func:`read_banks` reads them back, all figures the same.

    Raises
    ------
    InputError
        A bank with figures that are of no technology known here.
    """
    return join_banks([_text(machine, bank) for bank in machine.banks])


def from_folder(text: str, folder: Path) -> str:
    """The text with paths of technologies that start in ``folder``."""
    found = []
    for bank in split_banks(text):
        size, *rest = bank.strip().split(":")
        if rest and rest[0].strip().endswith(".toml"):
            rest[0] = str(folder / rest[0].strip())
        found.append(":".join([size, *rest]))
    return join_banks(found)


def _read(text: str, where: str) -> BankOf:
    size, *rest = (part.strip() for part in text.split(":"))
    if len(rest) not in (1, 2) or not all(rest):
        raise InputError(f"{where} {text!r}: write SIZE:TECHNOLOGY, as 2MB:nvsim-sram")
    ports = rest[1] if len(rest) == 2 else None
    if ports is not None and not (ports.isascii() and ports.isdigit() and len(ports) < 10):
        raise InputError(f"{where} {text!r}: {ports!r} is not a whole number of ports")
    try:
        technology = load_technology(rest[0])
    except InputError as error:
        raise InputError(f"{where} {text!r}: {error}") from None
    return BankOf(
        spm_bytes=parse_quantity(size, Dimension.BYTES, f"{where} {text!r}: size"),
        technology=technology,
        ports=None if ports is None else int(ports),
        named=rest[0],
    )


def _text(machine: Machine, bank: Bank) -> str:
    """The text, if what it says is the bank."""
    parts = [str(bank.spm_bytes), bank.technology]
    if bank.read_bytes_per_s is not None and bank.technology:
        alone = load_technology(bank.technology).at(bank.spm_bytes).read_bytes_per_s
        parts.append(str(max(1, round(bank.read_bytes_per_s / alone))))
    text = ":".join(parts)
    if not bank.technology or with_banks(machine, read_banks([text], BANK)).banks != (bank,):
        raise InputError(
            f"machine {machine.name}: a bank of {bank.spm_bytes} bytes has figures of its own, "
            "which no setting says; give banks of technologies in its place"
        )
    return text
