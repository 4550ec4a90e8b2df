"""Files are replaced whole or not at all, keep their mappings, and leave nothing beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.io.document import require_writable, write_text
from tests.full_disk import full_disk

KILLED = """
import os, signal, sys
from pathlib import Path
from spmopt.io import document
document.os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)
document.write_text(Path(sys.argv[1]), "new")
"""


@pytest.mark.parametrize("mapping", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, mapping: int) -> None:
    path, link = tmp_path / "f", tmp_path / "link"
    link.symlink_to(path)
    write_text(path, "old")
    path.chmod(mapping)
    write_text(link, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mapping)
    assert link.is_symlink()


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_text(tmp_path / "f", "x")
    assert (tmp_path / "f").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_a_killed_process_has_left_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    for again in (require_writable, lambda known: write_text(known, "other")):
        line = [sys.executable, "-c", KILLED, str(path)]
        assert subprocess.run(line, check=False).returncode == -9
        assert path.read_text() == "old"
        assert len(os.listdir(tmp_path)) == 2
        again(path)
        assert os.listdir(tmp_path) == ["f"]
    assert path.read_text() == "other"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_text(path, "old")
    with full_disk(1000), pytest.raises(InputError, match="f: cannot be written"):
        write_text(path, "x" * 2000)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]
