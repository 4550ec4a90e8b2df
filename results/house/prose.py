"""Lint names and docstrings by the glossary: rates and counts that may only fall.

A count stands for the whole tree, so that a new name or docstring in the private language raises
it over its budget, while old ones are tolerated until they are rewritten.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from results.house.source import DOCUMENTED, nodes

_LISTS = tomllib.loads(Path(__file__).with_name("words.toml").read_text())
PRIVATE = frozenset(_LISTS["private"])
"""Words that the glossary replaces, as they stand in names and docstrings."""
_WORD = re.compile(r"[A-Za-z]+")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def what_rate(texts: Iterable[str]) -> float:
    """Return how often "what" stands in 1,000 words of docstrings."""
    words = [word.lower() for text in texts for doc in _docstrings(text) for word in doc]
    return round(1000 * words.count("what") / max(1, len(words)), 1)


def participle_share(texts: Iterable[str]) -> float:
    """Return the percentage of functions whose name begins with a past participle."""
    names = [node.name for text in texts for node in _functions(text)]
    named = sum(is_participle(name.strip("_").split("_")[0]) for name in names)
    return round(100 * named / max(1, len(names)), 1)


def is_participle(word: str) -> bool:
    """Return whether a word of a name reads as a past participle."""
    regular = word.endswith("ed") and len(word) > 4 and word not in _LISTS["not_participles"]
    return regular or word in _LISTS["participles"]


def private_words(texts: Iterable[str]) -> int:
    """Count words of :data:`PRIVATE` in the names that are defined and in docstrings."""
    count = 0
    for text in texts:
        names = (part.lower() for name in _names(text) for part in _PART.findall(name))
        docs = (word.lower() for doc in _docstrings(text) for word in doc)
        count += sum(word in PRIVATE for word in (*names, *docs))
    return count


def _functions(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _names(text: str) -> Iterator[str]:
    """Yield names of functions, classes, arguments and fields."""
    for node in nodes(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _docstrings(text: str) -> Iterator[list[str]]:
    """Yield the words of each docstring."""
    for node in nodes(text):
        if isinstance(node, DOCUMENTED):
            yield _WORD.findall(ast.get_docstring(node) or "")
