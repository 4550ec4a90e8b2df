"""Compile the dual when the package is built, where that can be done; it works without, slower.

The compiler is that of the environment variable ``CC``, else ``cc``, ``gcc`` or ``clang`` on the
path, else the one of the package ziglang, which the build installs for itself. What it makes is a
plain shared library, for any Python. ``python formulations/compile_kernel.py`` makes it in place.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).parent / "residency" / "bound" / "dual.c"
_ENDING = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
TARGET = _SOURCE.with_name(f"libspmopt_dual{_ENDING}")
# Without contraction to fused operations, the bits are those of NumPy.
_OPTIONS = ("-O3", "-std=c11", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off")
_ZIG = "ziglang>=0.13,<1"


def compiler() -> list[str] | None:
    """Return the command of a C compiler."""
    if "CC" in os.environ:
        return shlex.split(os.environ["CC"])
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name) is not None:
            return [name]
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") is not None else None


def compile_kernel() -> str | None:
    """Make the library beside its source; return the error, or ''."""
    TARGET.unlink(missing_ok=True)
    command = compiler()
    if command is None:
        return "no C compiler"
    libraries = () if sys.platform == "win32" else ("-lm",)
    digest = sha256(_SOURCE.read_bytes()).hexdigest()
    command += [*_OPTIONS, f"-DSOURCE={digest}", str(_SOURCE), "-o", str(TARGET), *libraries]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return None if done.returncode == 0 else f"{shlex.join(command)}: {done.stderr.strip()}"


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand
    pass
else:

    class KernelHook(BuildHookInterface):
        """Adds the library to a wheel."""

        def dependencies(self) -> list[str]:
            """Name what the build needs where the system has no compiler."""
            return [] if compiler() is not None else [_ZIG]

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Compile; without success the wheel is for all platforms, and NumPy does the work."""
            failure = compile_kernel()
            if failure is not None:
                self.app.display_warning(f"spmopt is installed without compiled code: {failure}")
                return
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
            build_data["artifacts"].append(TARGET.relative_to(self.root).as_posix())


if __name__ == "__main__":
    sys.exit(compile_kernel())
