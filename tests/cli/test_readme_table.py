"""The table on the README's first screen is what its command prints."""

import re
from pathlib import Path

from spmopt.schedulers.registry import COMPARED, Kind, find
from tests.cli.run import Run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MANUAL = (ROOT / "spmopt" / "schedulers" / "README.md").read_text(encoding="utf-8")
POLICIES = [name for name in COMPARED if find(name).kind is Kind.POLICY]


def shown() -> list[str]:
    found = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def figures(lines: list[str]) -> dict[str, list[str]]:
    """Time, traffic and energy of the policies, which do not depend on the computer."""
    rows = [re.split(r"\s{2,}", line) for line in lines]
    return {row[0]: row[1:4] for row in rows if row[0] in POLICIES}


def test_the_command_prints_this(run: Run) -> None:
    command, *lines = shown()
    name = command.removeprefix("$ spmopt ")
    printed = run(f"{name} --schedulers {','.join(POLICIES)}").out.splitlines()
    assert lines[0] == printed[0]
    assert lines[2].replace("class gap", "").split() == printed[2].split()  # of `whole` only
    assert list(figures(lines)) == POLICIES
    assert figures(lines) == figures(printed)


def test_it_ends_in_words_about_the_rules() -> None:
    optimum, belady, best = shown()[-3:]
    cost = r"takes [\d.]+ (to [\d.]+ )?% more time than the optimum\."
    assert optimum.startswith("The optimum in the listed order is ")
    assert re.fullmatch(f"Belady {cost}", belady)
    assert re.fullmatch(f"The best greedy rule in the listed order, [a-z:=-]+, {cost}", best)


def test_all_that_is_compared_is_there() -> None:
    names = [line.split()[0] for line in shown()[5 : 5 + len(COMPARED)]]
    assert names == list(COMPARED)


def test_transfers_of_page_above(run: Run) -> None:
    command = shown()[0].removeprefix("$ spmopt compare ")
    totals = run(f"solve {command} --scheduler page --json").record["results"][0]
    told = re.search(r"([\d,]+) for\s+([\d,]+) commands on ResNet-50 training", MANUAL)
    assert told is not None
    descriptors, commands = (int(number.replace(",", "")) for number in told.groups())
    assert (totals["dma_descriptors"], totals["dma_commands"]) == (descriptors, commands)


def test_what_an_option_of_msa_is_worth(run: Run) -> None:
    names = ("msa", "msa:copies=idle")
    line = "compare mobilenetv2 --training --spm 128MB --json --tolerance 0.001"
    results = run(f"{line} --schedulers {','.join(names)},fluid").record["results"]
    plain, idle = (100 * result["gap"] for result in results[:2])
    told = re.search(
        r"takes (\d+) % more time than\s+the bound, `msa:copies=idle`\s+(\d+) %", MANUAL
    )
    assert told is not None
    assert told.groups() == (f"{plain:.0f}", f"{idle:.0f}")
