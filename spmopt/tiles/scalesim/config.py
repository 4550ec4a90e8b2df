"""Configuration files (``.cfg``): array, SRAM sizes and bandwidth of SCALE-Sim's machine.

Sections in brackets, then lines ``key: value`` or ``key = value``; keys in any case; comments
begin with ``#`` or ``;``. Keys that are not needed here (offsets, banks) are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.core.machine import SystolicArray
from spmopt.tiles.scalesim.text import positive, read_text

_SECTION = re.compile(r"\[([^\]]+)\]")
_SETTING = re.compile(r"([^:=]+?)\s*[:=]\s*(.*)")
_KIB = 1024
_ARCHITECTURE = "architecture_presets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """SCALE-Sim's machine.

    Attributes
    ----------
    array
        Rows, columns and dataflow.
    ifmap_sram_bytes, filter_sram_bytes, ofmap_sram_bytes
        Three SRAMs (SCALE-Sim's kB are 1024 bytes).
    words_per_cycle
        DRAM bandwidth that each is given; None where SCALE-Sim is to compute what it needs.
    unused_bandwidth
        What the file says of it where SCALE-Sim computes it, and so passes it over.
    """

    name: str
    array: SystolicArray
    ifmap_sram_bytes: int
    filter_sram_bytes: int
    ofmap_sram_bytes: int
    words_per_cycle: int | None
    unused_bandwidth: str | None = None

    @property
    def sram_bytes(self) -> int:
        """The three SRAMs together."""
        return self.ifmap_sram_bytes + self.filter_sram_bytes + self.ofmap_sram_bytes


def read_config(path: Path) -> Config:
    """Read a file.

    Raises
    ------
    InputError
        The file cannot be read, a line of it cannot be used, or a setting is missing.
    """
    return parse_config(read_text(path, "a SCALE-Sim .cfg"), str(path))


def parse_config(text: str, where: str = "cfg") -> Config:
    """Machine of the text of a file; ``where`` begins each error."""
    read = _Settings(_settings(text, where), where)
    dataflow = read.one_of("Dataflow", _ARCHITECTURE, ("os", "ws", "is"))
    bandwidth = read.one_of("InterfaceBandwidth", "run_presets", ("CALC", "USER"))
    return Config(
        name=read.text("run_name", "general"),
        array=SystolicArray(
            rows=read.number("ArrayHeight"),
            columns=read.number("ArrayWidth"),
            dataflow=dataflow,
        ),
        ifmap_sram_bytes=_KIB * read.number("IfmapSramSzkB"),
        filter_sram_bytes=_KIB * read.number("FilterSramSzkB"),
        ofmap_sram_bytes=_KIB * read.number("OfmapSramSzkB"),
        words_per_cycle=read.number("Bandwidth") if bandwidth == "USER" else None,
        unused_bandwidth=None if bandwidth == "USER" else read.optional("Bandwidth"),
    )


_Found = Mapping[tuple[str, str], tuple[int, str]]
"""Line and value by section and key, the key in lower case."""


def _settings(text: str, where: str) -> _Found:
    section = ""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if not content or content[0] in "#;":
            continue
        if heading := _SECTION.fullmatch(content):
            section = heading[1]
        elif setting := _SETTING.fullmatch(content):
            key = (section, setting[1].lower())
            if key in found:
                raise InputError(
                    f"{where}, line {number}: {setting[1]} is set in line {found[key][0]} too; "
                    "keep one"
                )
            found[key] = (number, setting[2])
        else:
            raise InputError(
                f"{where}, line {number}: {content!r} is neither a [section] nor a setting; "
                "write 'key: value'"
            )
    return found


@dataclass(frozen=True, slots=True)
class _Settings:
    """One setting at a time, checked."""

    found: _Found
    where: str

    def _get(self, key: str, section: str) -> tuple[int, str]:
        try:
            return self.found[section, key.lower()]
        except KeyError:
            raise InputError(
                f"{self.where}: {key} is missing; add it to section [{section}]"
            ) from None

    def text(self, key: str, section: str) -> str:
        return self._get(key, section)[1]

    def optional(self, key: str) -> str | None:
        found = self.found.get((_ARCHITECTURE, key.lower()))
        return None if found is None else found[1]

    def number(self, key: str) -> int:
        line, value = self._get(key, _ARCHITECTURE)
        return positive(value, f"{self.where}, line {line}: {key}")

    def one_of(self, key: str, section: str, choices: tuple[str, ...]) -> str:
        line, value = self._get(key, section)
        if value not in choices:
            raise InputError(
                f"{self.where}, line {line}: {key} is {value!r}; write {', '.join(choices[:-1])} "
                f"or {choices[-1]}"
            )
        return value
