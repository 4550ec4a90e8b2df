"""Results as compressed files."""

from __future__ import annotations

import gzip
import json
import zlib

from spmopt.core.errors import InputError
from spmopt.io.files import StoredResult, decode_result, encode_result


def packed(stored: StoredResult) -> bytes:
    """A result as a compressed file, the same bytes each time; quickly, not tightly."""
    text = json.dumps(encode_result(stored), separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), 1, mtime=0)


def unpacked(packed: bytes, where: str) -> StoredResult | None:
    """A compressed result; None where it is cut off, or none. ``where``: what errors call it."""
    try:
        return decode_result(json.loads(gzip.decompress(packed)), where)
    except (OSError, EOFError, ValueError, InputError, zlib.error):
        return None
