"""README and manual keep their word: commands, options, exit codes, names and defaults exist."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from spmopt.analysis import Cause
from spmopt.cli import Code, commands
from spmopt.core.machine import ENERGY_FIGURES
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import SCHEDULERS
from spmopt.testing.policies import check_legal
from tests.cli.run import Run
from tests.cli.test_options import options
from tests.thorough import THOROUGH

ROOT = Path(__file__).parents[2]
FOLDERS = ("formulations", "instances", "results", "spmopt", "tests")
PAGES = {
    path.parent.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *(ROOT / "spmopt").glob("**/README.md"))
}
README = PAGES["."]
PAGE_FILES = [
    ROOT / "README.md",
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).glob("**/*.md"))),
]
MANUAL = "\n".join(PAGES.values())
COMMANDS = list(commands.COMMANDS)
COMPARED = 'compare(problem, ["belady", smallest_first, "residency"])'


def lines() -> list[list[str]]:
    """Words of every spmopt command in a code block."""
    found = []
    for block in re.findall(r"```(?:bash|console)\n(.*?)```", MANUAL, re.DOTALL):
        for line in block.splitlines():
            text = line.removeprefix("$ ").split("&&")[-1]
            words = shlex.split(text, comments=True)
            if words and words[0].endswith("spmopt"):
                found.append(words[1:])
    return found


def test_every_command_is_shown() -> None:
    assert {words[0] for words in lines()} == set(COMMANDS)


def test_shown_options_exist() -> None:
    known = options()
    for words in lines():
        command = " ".join(words[: 2 if words[1:2] == ["show"] else 1])
        assert {word for word in words[1:] if word.startswith("-")} <= known[command], words


def test_every_option_named_in_prose_exists() -> None:
    known = {"--help", "--help-all"}.union(*options().values())
    prose = re.sub(r"```.*?```", "", MANUAL, flags=re.DOTALL)
    named = set(re.findall(r"`(--[a-z0-9-]+)", prose))
    assert len(named) > 10
    assert named <= known


def test_exit_codes_are_all_documented() -> None:
    table = re.findall(r"^\| (\d+) \| (.+) \|$", PAGES["spmopt/cli"], re.MULTILINE)
    assert [int(code) for code, _ in table] == [int(code) for code in Code]


def test_schedulers_are_all_documented() -> None:
    rows = re.findall(
        r"^\| (`[a-z`, :=-]+`) \| (?:nothing|whole|pages|bytes)", MANUAL, re.MULTILINE
    )
    assert [name for row in rows for name in re.findall("[a-z:=-]+", row)] == list(SCHEDULERS)


def test_energy_defaults_are_those_of_the_program() -> None:
    energy = load_machine("a100").energy
    documented = {
        name: float(value)
        for names, value in re.findall(
            r"^\| (`energy.+?`) \| ([\d.]+) p?[JW]", MANUAL, re.MULTILINE
        )
        for name in re.findall(r"energy\.(\w+)", names)
    }
    assert documented == {name: getattr(energy, name) for name in ENERGY_FIGURES}


def test_how_far_sources_of_technologies_are_apart(run: Run) -> None:
    found = run("technologies --capacity 3MB --json").record["technologies"]
    leakage = {each["name"]: each["scratchpad"]["leakage_mw"] for each in found}
    ratios = [
        leakage[f"deepnvm-{kind}"] / leakage[f"nvsim-{kind}"] for kind in ("sram", "stt", "sot")
    ]
    assert f"factor of {min(ratios):.0f} to {max(ratios):.0f} at 3 MB" in " ".join(MANUAL.split())


def test_words_of_an_analysis_are_explained(run: Run) -> None:
    words = PAGES["spmopt/analysis"]
    causes = [cause.words for cause in Cause if cause is not Cause.NONE]
    for word in (*causes, "compute", "memory"):
        assert f"`{word}`" in words
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|.*?\|(.*?)\|", words, re.M))))
    known = {
        name
        for per in ("layer", "tensor")
        for name in run(f"explain bert-tiny -s stream --per {per} --json").record[f"{per}s"][0]
    }
    assert len(named) > 10
    assert named <= known


def test_every_folder_has_its_line() -> None:
    named = re.findall(r"`([\w/]+/)`", PAGES["spmopt"])
    for folder in named:
        assert (ROOT / folder).is_dir()
    parts = {f"spmopt/{path.parent.name}/" for path in (ROOT / "spmopt").glob("*/__init__.py")}
    assert parts | {"formulations/", "tests/", "instances/", "results/"} <= set(named)
    for folder in ("formulations", "tests", "instances", "results"):
        assert (ROOT / folder / "README.md").is_file()


def test_files_named_exist() -> None:
    paths = re.findall(r"`((?:spmopt|formulations|tests)/[\w./]+)`", MANUAL)
    assert "spmopt/verifier/bound.py" in paths
    for path in paths:
        assert (ROOT / path).exists(), path


def test_links_lead_somewhere() -> None:
    for page in PAGE_FILES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!https?://)([^)#\s]+)", text):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_links_into_pages_lead_to_headings() -> None:
    seen = 0
    for page in PAGE_FILES:
        for target, heading in re.findall(r"\]\(([\w/.]*)#([\w-]+)\)", page.read_text()):
            text = ((page.parent / target) if target else page).read_text(encoding="utf-8")
            titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            names = {re.sub(r"[^\w -]", "", t).replace(" ", "-").lower() for t in titles}
            assert heading in names, f"{page}: {target}#{heading}"
            seen += 1
    assert seen > 10


def test_the_machine_of_the_first_page_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "npu.toml").write_text(text)
    machine = load_machine(str(tmp_path / "npu.toml"))
    assert machine.operations_per_s == 2 * 128 * 128 * 10**9
    assert machine.spm_bytes == 4 * 2**20


def test_the_policy_of_the_manual_is_legal() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGES["spmopt/schedulers"], re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    check_legal(names["small_weight"])


def test_the_first_page_is_short() -> None:
    assert len(README.splitlines()) <= 130
    assert len(README.split()) <= 1000


def test_the_python_of_the_first_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, names = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL)), dict[str, Any]()
    assert code.count(COMPARED) == 1
    if not THOROUGH:  # up to its time limit it looks for more
        code = code.replace(COMPARED, COMPARED.replace("])", "], time_limit=1.0)"))
    exec(compile(code, "README.md", "exec"), names)
    check_legal(names["smallest_first"])
    printed = capsys.readouterr().out
    assert re.search(r"^smallest_first +\d", printed, re.MULTILINE)
    makespan_s, gap = map(float, printed.splitlines()[-1].split())
    assert 0.001206 < makespan_s < (0.00122 if THOROUGH else 0.002)
    assert 0 < gap < (0.03 if THOROUGH else 1)
