"""An ONNX file without its weights, read field by field: they would fill memory, and say nothing.

A file of protocol buffers is fields, each a tag and its contents; a message is a field whose
contents are fields. Those of initializers that hold many bytes are left out, all else is copied
(https://protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

BYTES_READ = 1 << 16
"""A constant over this size is a weight; its contents are never looked at."""
MOST_KEPT = 1 << 28
"""Bytes of the rest; protocol buffers in memory take about three times as many."""
_GRAPH, _INITIALIZER = 7, 5  # of ModelProto, of GraphProto
_NAME = 8  # of TensorProto
_DATA = frozenset((4, 5, 6, 7, 9, 10, 11))  # of TensorProto: typed elements, or raw ones
_LENGTH = 2


def without_weights(path: Path) -> bytes:
    """Return the bytes of a model without the contents of its large initializers.

    Raises
    ------
    ValueError
        The file is cut short, or no protocol buffer.
    OverflowError
        More than :data:`MOST_KEPT` bytes are left.
    """
    if not path.stat().st_size:
        return b""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return bytes(_keep(data, 0, len(data), (_GRAPH, _INITIALIZER)))


def initializer(path: Path, name: str) -> bytes | None:
    """Return the message of an initializer of a file; None where it has no such one.

    Raises
    ------
    OSError, ValueError
        The file cannot be read, or is no protocol buffer.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for number, kind, _, begin, end in _fields(data, 0, len(data)):
            if number != _GRAPH or kind != _LENGTH:
                continue
            for inside, of_kind, _, first, last in _fields(data, begin, end):
                if inside != _INITIALIZER or of_kind != _LENGTH:
                    continue
                for field, _, _, here, there in _fields(data, first, last):
                    if field == _NAME and data[here:there] == name.encode():
                        return data[first:last]
    return None


def _keep(data: mmap.mmap, begin: int, end: int, path: tuple[int, ...]) -> bytearray:
    """Return a message, with the message at ``path`` stripped of its data."""
    found = bytearray()
    for number, kind, start, inner, stop in _fields(data, begin, end):
        if path and number == path[0] and kind == _LENGTH:
            message = _keep(data, inner, stop, path[1:])
            # The message is shorter now, so its length is written anew.
            found += _varint(number << 3 | _LENGTH) + _varint(len(message)) + message
        # Fields of a message on the path are copied; only data of an initializer is dropped.
        elif path or number not in _DATA or kind != _LENGTH or stop - inner <= BYTES_READ:
            found += data[start:stop]
        if len(found) > MOST_KEPT:
            raise OverflowError
    return found


def _fields(data: mmap.mmap, begin: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield number and kind of each field, where it begins, its contents, and where it ends."""
    place = begin
    while place < end:
        start = place
        tag, place = _number(data, place, end)
        inner = place
        match tag & 7:
            case 0:  # a number
                _, place = _number(data, place, end)
            case 1:
                place += 8
            case 2:
                size, inner = _number(data, place, end)
                place = inner + size
            case 5:
                place += 4
            case _:
                raise ValueError(f"field of kind {tag & 7}")
        if place > end:
            raise ValueError("cut short")
        yield tag >> 3, tag & 7, start, inner, place


def _number(data: mmap.mmap, place: int, end: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    value = shift = 0
    # A number has ten bytes at most (64 bits, seven a byte).
    while place < end and shift < 70:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
    raise ValueError("cut short")


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
