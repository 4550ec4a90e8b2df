"""Odd values and texts, and mutations of documents that keep their structure."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

DEEP, DIGITS = 100_000, 5_001
NAMES = (
    *("", " ", "a" * 5_000, "../../X", "/etc/passwd", "a\nb", "a\x1b[31mb\x07", "\u202ecod.exe"),
    *(
        "=HYPERLINK(1)",
        "@SUM(A1)",
        "nul\x00byte",
        "\ud7ff\U0001f600",
        "con",
        "-x",
        "%s%n",
        "'\"`$(",
    ),
)
NUMBERS = (
    *(0, -1, 1, 2**31, 2**53 + 1, 2**60, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 10**400),
    *(0.5, -0.0, 1e308, 5e-324, 1e-300, float("inf"), float("nan"), True),
)
SIZES = (
    *("8B:32B:x\u00b2", "\u00b2MB", "1e999MB", "1e-999MB", "-1MB", "0B", "1" * DIGITS + "B", "MB"),
    *("1MB/s/s", "24", "\u0664MB", "1_000MB", "inf", "nanB", "0x10B", "1B:1000000000MB:1B", "::"),
    *("1MB:2MB:x1", "1MB:2MB:x0", "1MB:2MB:-1MB", "2MB:1MB:1MB", "1MB,,2MB", "1MB:2MB:x1.0000001"),
    *("1" + "0" * 400 + "B", "9" * 18 + "B", "1.5B", "1B:2B:3B:4B", "x", "1" * 40 + ":2:x3"),
)
OTHERS: tuple[Any, ...] = (None, [], {}, [[]], [None], {"": 0}, [0] * 1000)


def value(rng: random.Random) -> Any:
    """Draw an odd value of any type."""
    return copy.deepcopy(rng.choice(rng.choice((NAMES, NUMBERS, SIZES, OTHERS))))


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a document: its container and its key there."""
    keys = document if isinstance(document, dict) else range(len(document))
    for key in keys:
        yield document, key
        if isinstance(document[key], dict | list):
            yield from places(document[key])


def mutated(document: Any, rng: random.Random) -> Any:
    """Return a document with one to three places replaced, removed, renamed, or repeated."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = list(places(document))
        if not found:
            break
        # Top levels are few, columns are long: both are to be met.
        inside = [each for each in found if isinstance(each[0], dict)] or found
        container, key = rng.choice(rng.choice((found, inside)))
        match rng.randrange(6):
            case 0:
                del container[key]
            case 1 if isinstance(container, dict):
                container[rng.choice(NAMES)] = container.pop(key)
            case 2 if isinstance(container, list):
                container.extend(container[:50])
            case 3 | 4 if type(container[key]) in (int, float):
                near = container[key] + rng.choice((-1, 1, 7, 2**31, 2**62))
                container[key] = rng.choice((near, rng.choice(NUMBERS[:13])))
            case _:
                container[key] = value(rng)
    return document


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return bytes cut short, flipped, repeated, or with others in between."""
    data = bytearray(content)
    at = rng.randrange(len(data) + 1)
    match rng.randrange(5):
        case 0:
            del data[at:]
        case 1:
            for _ in range(rng.choice((1, 1, 4, 30))):
                data[rng.randrange(len(data))] = rng.randrange(256)
        case 2:
            end = min(len(data), at + rng.randrange(200))
            data[at:at] = data[at:end] * rng.choice((1, 3, 100))
        case 3:
            data[at:at] = rng.choice((b"\x00", b"\xff\xfe", b"\x1b[2J", b"9" * 5001, b"[" * 2000))
        case _:
            del data[at : at + rng.randrange(1, 40)]
    return bytes(data)


def json_text(document: Any) -> bytes:
    """Write JSON, digits and what is no JSON number included."""
    return json.dumps(document).encode(errors="surrogatepass")


def toml_value(found: Any) -> str:
    """Write a value as TOML, inline."""
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, int | float):
        return f"1{'0' * 400}" if abs(found) == 10**400 else repr(found)
    if isinstance(found, list):
        return "[" + ", ".join(map(toml_value, found)) + "]"
    if isinstance(found, dict):
        return "{" + ", ".join(f"{_text(k)} = {toml_value(v)}" for k, v in found.items()) + "}"
    return _text(str(found))


def toml_text(document: dict[str, Any]) -> bytes:
    """Write TOML: a line for each key, or a table for each."""
    lines = []
    for key, found in document.items():
        if isinstance(found, dict) and found:
            lines += [(1, f"[{_text(key)}]")]
            lines += [(1, f"{_text(k)} = {toml_value(v)}") for k, v in found.items()]
        else:
            lines += [(0, f"{_text(key)} = {toml_value(found)}")]
    return "\n".join(line for _, line in sorted(lines, key=lambda each: each[0])).encode()


def _text(text: str) -> str:
    return json.dumps(text).replace("\\ud83d\\ude00", "\\U0001F600")
