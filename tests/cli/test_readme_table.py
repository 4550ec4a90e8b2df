"""The table on the README's first screen is what its command prints."""

import re
from pathlib import Path

from spmopt.schedulers.registry import Kind, find
from tests.cli.run import Run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MANUAL = (ROOT / "spmopt" / "schedulers" / "README.md").read_text(encoding="utf-8")
TRAINING = "resnet50 --training --batch 32 --machine rtx2080ti --spm 24MB"


def shown() -> list[str]:
    found = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def policies() -> list[str]:
    names = shown()[0].split(" -s ")[1].split(",")
    return [name for name in names if find(name).kind is Kind.POLICY]


def figures(lines: list[str], first: int) -> dict[str, list[str]]:
    """Time and traffic of the policies from a line on: no matter which computer it is."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[first : first + len(policies())]]
    return {row[0]: row[1:3] for row in rows}


def test_the_command_prints_this(run: Run) -> None:
    command, *lines = shown()
    line, names = command.removeprefix("$ spmopt ").split(" -s ")
    assert names.split(",")[-2:] == ["residency", "fusion"]
    printed = run(f"{line} -s {','.join(policies())}").out.splitlines()
    assert lines[0] == printed[0]
    assert lines[4] == "layer by layer"
    assert list(figures(lines, 5)) == policies()
    assert figures(lines, 5) == figures(printed, 4)


def test_the_same_policies_are_on_the_best_plan() -> None:
    lines = shown()[1:]
    residency_plan = lines.index("best fusion plan found")
    assert list(figures(lines, residency_plan + 1)) == policies()
    assert lines[residency_plan + 1 + len(policies())].split()[0] == "fusion"


def test_it_ends_in_four_sentences() -> None:
    listed, fused, belady, space = shown()[-4:]
    assert re.fullmatch(r"Layer by layer: optimum [\d.]+ ms \(gap [\d.]+ %\)\.", listed)
    assert re.fullmatch(r"With fusion: optimum [\d.]+ ms \(gap [\d.]+ %\)\.", fused)
    distance = r"[\d.]+ (to [\d.]+ )?% above the fused optimum\."
    assert re.fullmatch(f"Belady, layer by layer: {distance}", belady)
    assert space.startswith("Fusion space `all`: consecutive groups in the given order; each ")


def test_transfers_of_page_above(run: Run) -> None:
    totals = run(f"solve {TRAINING} --scheduler residency --json").record["results"][0]
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
