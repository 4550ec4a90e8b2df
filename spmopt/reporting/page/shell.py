"""One file of HTML from its parts, for every page alike.

The scripts of a page follow each other in the order given, in one function: they are parts of one
script, so that a name is there once, and nothing of it is seen from outside. Data are blocks of
JSON, compressed (gzip) and in base64, so that nothing in them can end a block: names are
shown as text. The page allows itself its own styles and scripts, by their hashes, and no network.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from spmopt import __version__
from spmopt.core.errors import InputError
from spmopt.reporting.tables import visible

Json = Mapping[str, object]
_SHELL = "shell.html"
_STYLES = ("theme", "layout", "parts", "table")
_LEVEL = 6  # of compression: 9 takes five times as long, and saves a twentieth


def html(
    *,
    title: str,
    subtitle: str,
    body: str,
    scripts: Sequence[str],
    blocks: Mapping[str, Json],
) -> str:
    """Return a page as one document, without any reference to another.

    Parameters
    ----------
    title, subtitle
        Any text.
    body
        HTML of the main part.
    scripts
        Names of scripts, in order: those that others build on come first.
    blocks
        Values of plain JSON types, by the names by which scripts read them.

    Raises
    ------
    InputError
        A figure among them is not finite.
    """
    style = "".join(source(f"styles/{name}.css") for name in _STYLES)
    joined = "".join(source(f"scripts/{name}.js") for name in scripts)
    # One function: names of scripts are local to it, and none leaks into the page.
    script = f'(() => {{\n"use strict";\n{_VENDORED}{joined}}})();\n'
    return _fill(
        source(_SHELL),
        {
            "policy": _policy(style, script),
            "version": escape(__version__),
            "title": escape(visible(title)),
            "subtitle": escape(visible(subtitle)),
            "style": style,
            "script": script,
            "body": body,
            "blocks": "\n".join(_block(name, value) for name, value in blocks.items()),
        },
    )


def source(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


# Templates of elements, by others (see vendor/README.md).
_VENDORED = (
    f"const htm = (() => {{\n{source('vendor/htm.js').replace('export default', 'return')}}})();\n"
)


def _policy(style: str, script: str) -> str:
    """Return the content security policy, which allows the page its own parts alone."""
    return "; ".join(
        (
            # Nothing is loaded from anywhere: a page may be opened beside secrets.
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _block(name: str, value: Json) -> str:
    """Return a value as compressed JSON, whose letters cannot end the block."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise InputError("figures are too large to be shown; leave their rows out") from None
    # Letters of base64 contain no ``<``: no value can end its block. No time: same bytes.
    packed = b64encode(gzip.compress(text.encode(), _LEVEL, mtime=0)).decode()
    return f'<script type="application/gzip" id="data-{escape(name)}">{packed}</script>'


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Put values for ``{{names}}``, at once: ``{{names}}`` in a value stay."""
    # One pass: a value that contains ``{{name}}`` is not filled in again.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)
