"""Where torch is not installed one line says so, and nothing else imports it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spmopt
from spmopt.core import errors
from spmopt.core.errors import InputError


def test_a_program_of_torch_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'torch>="):
        spmopt.load("net.pt2")
    with pytest.raises(InputError, match=r"pip install 'torch>="):
        spmopt.from_torch(object(), ())


def test_library_and_command_line_import_no_torch() -> None:
    code = "import spmopt, spmopt.cli.app, spmopt.frontends.networks, sys; "
    done = subprocess.run(
        [sys.executable, "-c", f"{code} print('torch' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
