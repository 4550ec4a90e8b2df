"""Measure the source tree: code lines, scripts, first page, import circles.

``python results/house/run.py`` prints a table of this checkout beside the recorded figures of the
tree before it was rebuilt (``before.toml``). Code lines are those of Python outside ``tests``
without blanks, comments, docstrings and imports; scripts in ``results`` count.
"""

from __future__ import annotations

import ast
import io
import subprocess
import tokenize
import tomllib
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[2]
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def main() -> None:
    """Print a Markdown table of all figures."""
    before = tomllib.loads(Path(__file__).with_name("before.toml").read_text())
    now = measured()
    print("| | before | now |\n|---|--:|--:|")
    for name, value in now.items():
        print(f"| {name} | {before[name]:,} | {value:,} |")


def measured() -> dict[str, int]:
    """Return the figures of this checkout."""
    python = [path for path in tracked("*.py") if path.parts[0] != "tests"]
    texts = [(ROOT / path).read_text() for path in python]
    scripts = [path for path in tracked("*.js") if "vendor" not in path.parts]
    readme = (ROOT / "README.md").read_text()
    return {
        "code lines of Python outside tests": sum(code_lines(text) for text in texts),
        "lines of Python outside tests": sum(len(text.splitlines()) for text in texts),
        "files of Python outside tests": len(python),
        "lines of JavaScript": sum(len((ROOT / p).read_text().splitlines()) for p in scripts),
        "lines of the README": len(readme.splitlines()),
        "words of the README": len(readme.split()),
        "import circles": circles(),
    }


def tracked(pattern: str) -> list[Path]:
    """Files that git keeps."""
    command = ["git", "-C", str(ROOT), "ls-files", pattern]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines() if (ROOT / line).exists()]


def code_lines(text: str) -> int:
    """Count lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        found: ast.stmt | None = None
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = node
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found = first if isinstance(first.value.value, str) else None
        if found is not None:
            lines -= set(range(found.lineno, (found.end_lineno or found.lineno) + 1))
    return len(lines)


def circles() -> int:
    """Count sets of modules that import each other in circles."""
    graph = grimp.build_graph("spmopt", "formulations")
    imports = nx.DiGraph(
        (module, target)
        for module in graph.modules
        for target in graph.find_modules_directly_imported_by(module)
    )
    return sum(len(part) > 1 for part in nx.strongly_connected_components(imports))


if __name__ == "__main__":
    main()
