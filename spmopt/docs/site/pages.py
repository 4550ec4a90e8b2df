"""Hooks of the site: pages that lie elsewhere in the repository, and generated references."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[3]
DOCS = "spmopt/docs/"
FOLDERS = ("formulations", "results", "spmopt", "instances", "tests")
SUFFIXES = (".md", ".png", ".svg")
_PARAMETERS = """Of the algorithms, with their defaults. `params` of `spmopt.solve` takes a
`SolveParams` or a TOML file, as `--params FILE` does; each record in it is a table:

```toml
list_fraction = 0.3

[residency]
program_cells = 20_000
```
"""
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def _repository() -> list[str]:
    """Return paths of pages and pictures in the repository."""
    found = [
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES
    ]
    return [path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *sorted(found))]


def _site_path(path: str) -> str:
    """Return where a page of the repository is on the site."""
    if path == "README.md":
        return "index.md"
    return re.sub(r"README\.md$", "index.md", path.removeprefix(DOCS))


def _is_page(path: str) -> bool:
    return path.endswith(".md") and path != f"{DOCS}README.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages and pictures of the repository, and the references."""
    sources = {}
    for path in _repository():
        inside = path.startswith(DOCS)
        if _is_page(path):
            sources[_site_path(path)] = path
            if not inside:
                text = (ROOT / path).read_text(encoding="utf-8")
                files.append(File.generated(config, _site_path(path), content=text))
        elif not path.endswith(".md") and not inside:
            files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    config.extra["sources"] = sources
    library, parameters = _library()
    generated = (("commands", _commands()), ("library", library), ("parameters", parameters))
    for name, text in generated:
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to the pages of the site; links to other files become their text."""
    sources: dict[str, str] = config.extra["sources"]
    source = sources.get(page.file.src_uri)
    if source is None:
        return markdown
    places = {path: place for place, path in sources.items()}

    def lead(found: re.Match[str]) -> str:
        mark, text, target, anchor = found.groups()
        if not target or "://" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = places.get(path, path.removeprefix(DOCS))
        known = files.get_file_from_path(place)
        if known is None:
            known = files.get_file_from_path(places.get(f"{path}/README.md", ""))
        if known is None:
            return text
        here = posixpath.dirname(page.file.src_uri) or "."
        return f"{mark}[{text}]({posixpath.relpath(known.src_uri, here)}{anchor or ''})"

    parts = re.split(r"(```.*?```)", markdown, flags=re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(lead, part) for part in parts)


def _help(*words: str) -> str:
    command = [sys.executable, "-m", "spmopt", *words]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def _commands() -> str:
    """Return the help of every command."""
    top = _help("--help")
    names = re.findall(r"^[│|] ([a-z]+) {2,}\S", top, re.MULTILINE)
    parts = ["# Commands", f"```text\n{top}\n```"]
    for name in names:
        parts += [f"## {name}", f"```text\n{_help(name, '--help-all')}\n```"]
    return "\n\n".join(parts)


def _library() -> tuple[str, str]:
    """Return pages of all public names, with their docstrings: one of parameters apart."""
    stub = ast.parse((ROOT / "spmopt" / "__init__.pyi").read_text(encoding="utf-8"))
    homes = {
        alias.asname or alias.name: node.module or ""
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    entries = {name: module for name, module in homes.items() if module != "spmopt"}
    functions = [name for name in entries if name[0].islower()]
    params = [name for name in entries if name.endswith("Params")]
    records = [name for name in entries if name[0].isupper() and name not in params]
    parts = ["# Library", "Public names of `import spmopt`."]
    for title, names in (("Functions", functions), ("Records", records)):
        parts.append(f"## {title}")
        parts += [f"::: {entries[name]}.{name}" for name in sorted(names)]
    tables = [f"::: {entries[name]}.{name}" for name in sorted(params, key="SolveParams".__ne__)]
    return "\n\n".join(parts), "\n\n".join(("# Parameters", _PARAMETERS, *tables))
