"""A guarded look into a file of ``torch.export.save`` before torch reads it.

torch says to load no file of an unknown source: it unpickles constants that are no tensors,
runs compiled code that lies beside the program, and evaluates text as expressions of sizes. A file
that needs it is refused here; pickles of tensors are read by torch's restricted reader.
"""

from __future__ import annotations

import ast
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spmopt.core.errors import InputError

MOST_TEXT = 64 << 20
"""Most bytes of a program without its weights: some 30,000 nodes; they take about 1 GB."""
_PROGRAMS = r"(^|/)(models/[^/]+|serialized_exported_program)\.json$"
_MOST_PACKED = 8
"""Most times that a compressed file may grow; torch itself does not compress."""
_LONGEST = 1_000
"""Most characters of an expression of sizes."""
_LARGEST_POWER = 16
_ARITHMETIC = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Name),
    *(ast.Constant, ast.keyword, ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
_QUOTED = re.compile(r"\w+|[\d.]+")
"""Texts in expressions: names of symbols, and numbers."""
_FORCED = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
_UNFORCED = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
_IMPORTS = ("__enum__", "default_factory_module")
"""In descriptions of nested arguments: what makes torch import a module that the file names."""


def require_harmless(file: Path) -> None:
    """Raise :class:`InputError` for an archive that is too large or would run code.

    Parameters
    ----------
    file
        An archive (zip).

    Raises
    ------
    InputError
        One line that names the offending content.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            _check(archive, file.stat().st_size)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            "is damaged or cut short; write it again with torch.export.save"
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})") from error


@contextmanager
def tensors_only() -> Iterator[None]:
    """Make torch read pickles as tensors and plain containers, or not at all."""
    old = {name: os.environ.pop(name, None) for name in (_FORCED, _UNFORCED)}
    os.environ[_FORCED] = "1"
    try:
        yield
    finally:
        del os.environ[_FORCED]
        os.environ.update({name: value for name, value in old.items() if value is not None})


def _check(archive: zipfile.ZipFile, size: int) -> None:
    members = archive.infolist()
    names = [each.filename for each in members]
    if not any(re.search(_PROGRAMS, name) for name in names):
        raise InputError(
            "holds no program: cut short, or weights alone (torch.save); write it with "
            "torch.export.save"
        )
    if len(set(names)) < len(names):
        raise InputError("holds two files of one name; write it again with torch.export.save")
    # Sizes of the directory, before anything is unpacked (zip bombs).
    if sum(each.file_size for each in members) > _MOST_PACKED * size:
        raise InputError(
            f"unpacks to over {_MOST_PACKED} times its size; write it again with torch.export.save"
        )
    if any("aotinductor/" in name for name in names):
        raise InputError(
            "holds compiled code, which torch would run; give the program of torch.export.save"
        )
    for each in members:
        if each.filename.endswith(".json"):
            _check_text(archive, each)


def _check_text(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    if member.file_size > MOST_TEXT:
        raise InputError(
            f"its program is over {MOST_TEXT >> 20} MiB beside its weights; export a part of it"
        )
    if member.filename.startswith("serialized_") and "exported_program" not in member.filename:
        return  # pickled tensors of older versions, whatever their names say
    try:
        found = json.loads(archive.read(member))
    except (ValueError, RecursionError):
        raise InputError(
            f"{member.filename} is damaged; write it again with torch.export.save"
        ) from None
    if member.filename.endswith("constants_config.json"):
        _check_constants(found)
    for key, text in _texts(found):
        if key == "expr_str":
            _check_expression(text)
        elif any(word in text for word in _IMPORTS) and key != "stack_trace":
            raise InputError(
                "names a module for torch to import; export with arguments that are tensors, "
                "tuples, lists and plain dictionaries"
            )


def _check_constants(found: Any) -> None:
    held = found.get("config") if isinstance(found, Mapping) else None
    for name, each in held.items() if isinstance(held, Mapping) else ():
        path = each.get("path_name") if isinstance(each, Mapping) else None
        if not str(path).startswith("tensor_"):
            raise InputError(
                f"holds a Python object ({name}), which torch would unpickle; export the module "
                "with constants that are tensors"
            )


def _texts(found: Any) -> Iterator[tuple[str, str]]:
    """Return all texts, each with its key."""
    left = [("", found)]
    while left:
        key, each = left.pop()
        if isinstance(each, str):
            yield key, each
        elif isinstance(each, dict):
            left.extend(each.items())
            left.extend(("", name) for name in each)
        elif isinstance(each, list):
            left.extend((key, inner) for inner in each)


def _check_expression(text: str) -> None:
    """Raise :class:`InputError` unless it is arithmetic of names: SymPy evaluates it."""
    try:
        tree = ast.parse(text, mode="eval") if len(text) <= _LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None or not all(map(_is_arithmetic, ast.walk(tree))):
        raise InputError(f"a size is no expression of sizes: {text[:60]!r}; export it again")


def _is_arithmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):  # classes of SymPy and torch begin so, no built-in that acts
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return name[:1].isupper() or name in ("floor", "ceiling", "sqrt")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
        power = node.right
        return (
            isinstance(power, ast.Constant)
            and isinstance(power.value, int)
            # Larger powers of integers would take all memory.
            and power.value <= _LARGEST_POWER
        )
    if isinstance(node, ast.Constant):
        # Texts inside an expression would be evaluated once more.
        return isinstance(node.value, int | float) or bool(
            isinstance(node.value, str) and _QUOTED.fullmatch(node.value)
        )
    if isinstance(node, ast.Name):
        # Names with underscores reach Python's internals.
        return not node.id.startswith("_")
    return isinstance(node, _ARITHMETIC)
