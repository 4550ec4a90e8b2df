"""Note which lines of a folder each test executes, which processes it starts, and its seconds.

A plugin of pytest for ``run.py``: ``SPMOPT_TRACED`` is the folder, ``SPMOPT_TRACE`` the JSON file
to write. What is executed while modules are imported, or by fixtures that several tests share, is
noted for no test in particular.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from coverage import Coverage

SHARED = ""
"""The context of lines that several tests may depend on."""
_coverage = Coverage(data_file=None, source=[os.environ["SPMOPT_TRACED"]], config_file=False)
_coverage.start()  # before anything of the folder is imported


def pytest_configure(config: pytest.Config) -> None:
    """Trace this run."""
    config.pluginmanager.register(_Trace())


class _Trace:
    """What each test does."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.calls: dict[str, set[str]] = defaultdict(set)
        self.test = SHARED

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Count what runs for this test; what tests keep for one another is computed anew."""
        for value in list(vars(getattr(item, "module", None) or object).values()):
            if hasattr(value, "cache_clear"):
                value.cache_clear()
        self._switch(item.nodeid)
        try:
            return (yield)
        finally:
            self._switch(SHARED)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Count what a fixture of several tests does for each of them."""
        test = self.test
        if fixturedef.scope != "function":
            self._switch(SHARED)
        try:
            return (yield)
        finally:
            self._switch(test)

    def _switch(self, test: str) -> None:
        self.test = test
        _coverage.switch_context(test)

    def pytest_collection_finish(self) -> None:
        """Note the modules whose functions tests call in processes of their own."""
        apart: Any = import_module("formulations.solver.apart")
        messages = apart._messages

        def noted(function: str, *others: Any) -> Iterator[Any]:
            self.calls[self.test].add(function.partition(":")[0])
            return messages(function, *others)  # type: ignore[no-any-return]

        apart._messages = noted

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the seconds of a test with its fixtures."""
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write what was noted of tests that pass: others tell no fault from a busy machine."""
        _coverage.stop()
        data = _coverage.get_data()
        trace = {
            "lines": {
                os.path.relpath(name): {
                    line: [test for test in tests if test not in self.failed]
                    for line, tests in data.contexts_by_lineno(name).items()
                }
                for name in data.measured_files()
            },
            "calls": {
                test: sorted(modules)
                for test, modules in self.calls.items()
                if test not in self.failed
            },
            "seconds": {
                test: seconds for test, seconds in self.seconds.items() if test not in self.failed
            },
        }
        with open(os.environ["SPMOPT_TRACE"], "w", encoding="utf-8") as file:
            json.dump(trace, file)
