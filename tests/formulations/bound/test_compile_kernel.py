"""Compile the dual by the compiler that is installed."""

from __future__ import annotations

import shutil
import sys

import pytest

from formulations import compile_kernel


@pytest.mark.parametrize("there", [False, True])
def test_the_compiler_of_a_system_without_one_is_that_of_ziglang_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    assert compile_kernel._SOURCE.is_file()
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(compile_kernel, "find_spec", lambda name: there or None)
    expected = [sys.executable, "-m", "ziglang", "cc"] if there else None
    assert compile_kernel.compiler() == expected
