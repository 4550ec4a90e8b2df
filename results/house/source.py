"""Count code lines, sentences and import circles of the tracked files."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from functools import cache
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_KINDS = (*DOCUMENTED, ast.arg, ast.AnnAssign, ast.Import, ast.ImportFrom)
_DIRECTIVE = re.compile(r"#\s*(noqa|type:|pragma|!)")
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def tracked(pattern: str) -> list[Path]:
    """Return the tracked files that match ``pattern``, from the root of the repository."""
    command = ["git", "-C", str(ROOT), "ls-files", pattern]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines() if (ROOT / line).exists()]


def code_lines(text: str) -> int:
    """Count lines that hold code: no blanks, comments, docstrings or imports."""
    return count_lines(text)[0]


@cache
def count_lines(text: str) -> tuple[int, int]:
    """Count lines that hold code, and comments that are no directives to tools."""
    lines: set[int] = set()
    comments = 0
    for kind, word, start, end, _ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind not in _NO_CODE:
            lines.update(range(start[0], end[0] + 1))
        elif kind == tokenize.COMMENT:
            comments += _DIRECTIVE.match(word) is None
    for node in nodes(text):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines -= _lines_of(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                lines -= _lines_of(first) if isinstance(first.value.value, str) else set()
    return len(lines), comments


def _lines_of(statement: ast.stmt) -> set[int]:
    return set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Return imports, definitions, arguments and annotated names of a file; parsing is slow."""
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, _KINDS))


def longest_sentence(markdown: str) -> int:
    """Return the words of the longest sentence outside code blocks, tables and headings."""
    prose = re.sub(r"```.*?```", "\n\n", markdown, flags=re.DOTALL)
    prose = re.sub(r"^(\||#).*$", "\n", prose, flags=re.MULTILINE)
    prose = re.sub(r"^\s*[*-] ", "\n\n", prose, flags=re.MULTILINE)
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    sentences = re.split(r"\n\s*\n|[.:;!?](?=\s)", prose)
    return max((len(re.findall(r"[\w`'./-]*\w[\w`'./-]*", s)) for s in sentences), default=0)


def circles() -> int:
    """Count sets of modules that import each other in circles."""
    graph = grimp.build_graph("spmopt", "formulations")
    imports = nx.DiGraph(
        (module, target)
        for module in graph.modules
        for target in graph.find_modules_directly_imported_by(module)
    )
    return sum(len(part) > 1 for part in nx.strongly_connected_components(imports))
