"""Run the commands and compare what they write with what is kept.

``python -m tests.golden.check [--quick] [--update-words] [--record] [NAME ...]``

*Figures* (JSON, CSV, result files: numbers, names, statuses) never change, but for times that were
taken. *Words* (tables, messages) change only on purpose: ``--update-words`` keeps the new ones.
A field that was renamed stands in ``renames.toml``; a file of version 1 is compared through the
program's own reader. ``--record`` keeps everything anew, and is for commands that are new.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.golden.commands import COMMANDS, SPACE, Command

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = HERE / "kept"
_TAKEN = re.compile(r"(^|_)(seconds\w*|solve_s|cpu_s|wall_s|date|started|version|spmopt)$")
"""Names of fields that differ from run to run, or from version to version."""
_SOLVER = re.compile(r"\b(HiGHS|CBC|CP-SAT) \d+(?:\.\d+)+")
_RENAMED_VALUES: dict[str, str] = tomllib.loads((HERE / "renames.toml").read_text())["values"]
_SECONDS = re.compile(
    r"\b\d+(\.\d+)? m?s\b(?=\)|; ended| \(CPU)|\b\d+(\.\d+)?(?= s\b)|(?<=  )\d+\.\d{2}$"
)


def main() -> int:
    """Check all commands, or those named; return the number that differ."""
    options = _options()
    if unknown := {*options.names} - {command.name for command in COMMANDS}:
        sys.exit(f"golden: no command is called {', '.join(sorted(unknown))}")
    chosen = [
        command
        for command in COMMANDS
        if (command.name in options.names or not options.names)
        and (command.quick or not options.quick)
    ]
    renames = renamed_fields()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = prepare(Path(name))
        for command in chosen:
            found = run(command, folder)
            differences = list(
                compare(found, renames, record=options.record, words=options.update_words)
            )
            failed += bool(differences)
            for line in differences:
                print(f"{command.name}: {line}")
    print(f"golden: {len(chosen) - failed} of {len(chosen)} commands as kept")
    return failed


def renamed_fields() -> dict[str, str]:
    """Return the new name of each field that was renamed."""
    fields: dict[str, str] = tomllib.loads((HERE / "renames.toml").read_text())["fields"]
    return fields


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--update-words", action="store_true")
    parser.add_argument("--record", action="store_true")
    return parser.parse_args()


def prepare(folder: Path) -> Path:
    """Put what the commands read into ``folder``."""
    shutil.copytree(ROOT / "instances", folder / "instances")
    shutil.copy(HERE / "version1" / "page.json", folder)
    (folder / "space.toml").write_text(SPACE)
    (folder / "made").mkdir()
    return folder


def run(command: Command, folder: Path) -> dict[str, str]:
    """Run a command in a process of its own; see :func:`outputs`."""
    environment = {**os.environ, "COLUMNS": "120", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "spmopt", *command.line.split()],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return outputs(command, folder, done.returncode, done.stdout, done.stderr)


def outputs(command: Command, folder: Path, code: int, out: str, err: str) -> dict[str, str]:
    """Return what a command printed and wrote, by name of the file to keep it in."""
    printed = "json" if "--json" in command.line.split() else "txt"
    found = {
        f"{command.name}.{printed}": out,
        f"{command.name}.exit.txt": f"{code}\n{err}",
    }
    for name in command.files:
        path = folder / name
        kept = f"{command.name}.{name.translate({58: '_'}).removeprefix('made/')}"
        found[kept] = path.read_text() if path.exists() else ""
    return found


def compare(
    found: Mapping[str, str],
    renames: Mapping[str, str],
    *,
    record: bool = False,
    words: bool = False,
) -> Iterator[str]:
    """Yield a line for each difference; keep all new output (``record``), or new ``words``."""
    KEPT.mkdir(exist_ok=True)
    for file, text in found.items():
        spoken_text = file.endswith(".txt")
        kept = KEPT / file
        new = spoken(text) if spoken_text else _SOLVER.sub(r"\1", figures(file, text))
        if record or (spoken_text and words):
            kept.write_text(new)
            continue
        if not kept.exists():
            yield f"{file} is not kept; --record it"
            continue
        old = kept.read_text()
        if not spoken_text:
            old = "\n".join(_renamed(line, renames) for line in old.splitlines()) + "\n"
            new_lines, old_lines = sorted(new.splitlines()), sorted(old.splitlines())
        else:
            new_lines, old_lines = new.splitlines(), old.splitlines()
        if new_lines != old_lines:
            yield from _lines(file, old_lines, new_lines)


def _lines(file: str, old: list[str], new: list[str]) -> Iterator[str]:
    """The first lines that only one side has."""
    lost = [line for line in old if line not in set(new)][:4]
    come = [line for line in new if line not in set(old)][:4]
    yield f"{file} differs"
    yield from (f"  - {line[:160]}" for line in lost)
    yield from (f"  + {line[:160]}" for line in come)


def _renamed(line: str, renames: Mapping[str, str]) -> str:
    path, equals, value = line.partition(" = ")
    parts = [renames.get(part, part) for part in path.split(".")]
    return ".".join(parts) + equals + _RENAMED_VALUES.get(value, value)


def spoken(text: str) -> str:
    """Printed text without the times that were taken."""
    lines = (_SECONDS.sub("#", line).rstrip() for line in text.splitlines())
    return "\n".join(lines) + "\n"


def figures(file: str, text: str) -> str:
    """A line for each figure of a file, ``path = value``; long lists as their digest."""
    if file.endswith(".csv"):
        head = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        value: object = list(csv.DictReader(head.splitlines()))
    elif file.endswith(".json"):
        try:
            value = json.loads(text)
        except ValueError:
            value = text
    else:
        value = text
    return "".join(f"{line}\n" for line in _leaves(value, ""))


def _leaves(value: object, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if not _TAKEN.search(str(key)):
                yield from _leaves(each, f"{path}.{key}")
    elif isinstance(value, list):
        plain = all(not isinstance(each, dict | list) for each in value)
        if plain and len(value) > 8:
            digest = hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
            yield f"{path}.# = {len(value)} values, {digest}"
        else:
            for index, each in enumerate(value):
                yield from _leaves(each, f"{path}.{index}")
    elif isinstance(value, str) and len(value) > 300:
        yield f"{path} = {hashlib.sha256(value.encode()).hexdigest()[:16]}"
    else:
        yield f"{path} = {value!r}"


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
