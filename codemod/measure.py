"""Words of the house: ``python measure.py ROOT`` prints figures of docstrings, functions and comments.

For ``results/house/run.py``: "what" in 1,000 words of docstrings, percent of functions named by a
participle, comments in 100 code lines; of ``spmopt`` and ``formulations``.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

IRREGULAR = frozenset(
    "found said told kept held made given taken done seen known sent begun chosen drawn written shown hidden spoken "
    "built bought brought caught gone lost met paid sold spent stood thought understood won worn become grown broken "
    "driven fallen felt dealt lent meant sought swept owed torn thrown woven bent heard stuck struck shaken swung slid".split()
)
NO_PARTICIPLES = frozenset("need feed seed speed embed shed exceed proceed bleed red indeed".split())
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
CLAUSES = re.compile(r"\b(?:that|those) of\b|\bwhose\b", re.I)


def is_participle(name: str) -> bool:
    """Return whether a function's name begins with a participle."""
    first = name.strip("_").split("_")[0]
    return first in IRREGULAR or (first.endswith("ed") and len(first) > 3 and first not in NO_PARTICIPLES)


def docstrings(tree: ast.AST) -> list[str]:
    """Return the docstrings of a module, its classes, functions and documented variables."""
    found = []
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            found += [
                each.value.value
                for each in body
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
            ]
    return found


def words_of_house(texts: list[str]) -> dict[str, float]:
    """Return the figures of the sources ``texts``."""
    words = whats = clauses = functions = participles = comments = 0
    code: int = 0
    for text in texts:
        tree = ast.parse(text)
        for doc in docstrings(tree):
            words += len(doc.split())
            whats += len(re.findall(r"\bwhat\b", doc, re.I))
            clauses += len(CLAUSES.findall(doc))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                functions += 1
                participles += is_participle(node.name)
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comments += 1
            elif token.type not in SILENT:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom) or (
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            ):
                lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        code += len(lines)
    return {
        '"what" in 1,000 words of docstrings': round(1000 * whats / words, 1),
        '"that of", "those of", "whose" in 1,000 words of docstrings': round(1000 * clauses / words, 1),
        "percent of functions named by a participle": round(100 * participles / functions, 1),
        "comments in 100 code lines": round(100 * comments / code, 1),
        "words of docstrings": words,
        "code lines": code,
    }


if __name__ == "__main__":
    root = Path(sys.argv[1])
    print(words_of_house([p.read_text() for top in ("spmopt", "formulations") for p in sorted((root / top).rglob("*.py"))]))
