"""Numbers as text, the same in all studies."""

from __future__ import annotations


def megabytes(size_bytes: float) -> str:
    """A capacity or traffic, as ``24 MB``, ``1.25 GB``."""
    if size_bytes >= 1e9:
        return f"{size_bytes / 1e9:.4g} GB"
    return f"{size_bytes / 1e6:.4g} MB"


def milliseconds(seconds: float) -> str:
    """A time in milliseconds, four digits."""
    return f"{1e3 * seconds:#.4g}".rstrip(".")


def in_percent(share: float) -> str:
    """A share of one in percent, as ``12.3`` under a heading that says so; none is ``0.0``."""
    return signed(100 * share).removeprefix("+")


def percent(share: float) -> str:
    """A share of one, as ``12.3 %``."""
    return f"{in_percent(share)} %"


def change(ratio: float) -> str:
    """A change in percent with its sign, as ``-48.1 %`` for 0.519; one that is none has no sign."""
    return f"{signed(100 * (ratio - 1))} %"


def signed(value: float) -> str:
    """A number with its sign and one digit, ``0.0`` without one."""
    text = f"{value:+.1f}"
    return text[1:] if float(text) == 0 else text


def listing(words: list[str]) -> str:
    """Join ``a``, ``b`` and ``c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
