"""What is emitted as JSON Lines is followed without the program, to the same contents of DRAM."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spmopt.execution.commands import machine_program
from spmopt.execution.emission import replay
from spmopt.execution.emission.lines import json_lines, records_of
from spmopt.execution.emission.loops import with_loops
from spmopt.execution.waits import waits
from tests.execution.emission.cases import CASES, digests, solved
from tests.execution.interleaving import interleaved

Lines = list[dict[str, Any]]


def emitted(name: str) -> Lines:
    """The header and commands of a case, loops unrolled."""
    program = machine_program(*solved(name))
    text = json_lines(records_of(program, waits(program)))
    return [each for line in text.splitlines() for each in replay.unroll(json.loads(line))]


def replayed(lines: Lines, order: list[int] | None = None) -> list[str]:
    """Digests of tensors after all commands, in an order."""
    header, *commands = lines
    machine = replay.Machine(header, 0)
    for index in range(len(commands)) if order is None else order:
        machine.execute(commands[index])
    parts = [machine.dram[each["dram_address"] :][: each["bytes"]] for each in machine.tensors]
    return [blake2b(part.data, digest_size=8).hexdigest() for part in parts]


@pytest.mark.parametrize("name", CASES)
def test_replayed_contents_are_those_of_run(name: str) -> None:
    assert replayed(emitted(name)) == digests(*solved(name))


@pytest.mark.parametrize("name", ["lenet training", "transformer training", "moves"])
def test_the_consumer_needs_the_file_alone(name: str, tmp_path: Path) -> None:
    program = machine_program(*solved(name))
    text = json_lines(records_of(program, waits(program)))
    (tmp_path / "commands.jsonl").write_text(text)
    shutil.copy(replay.__file__, tmp_path / "replay.py")
    assert len((tmp_path / "replay.py").read_text().splitlines()) < 120
    line = [sys.executable, "-I", "replay.py", "commands.jsonl", "7"]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=tmp_path)
    expected = digests(*solved(name), seed=7)
    assert done.stdout.splitlines() == [f"{k} {digest}" for k, digest in enumerate(expected)]


def test_tiles_are_a_loop() -> None:
    """A first tile, a loop, a last one; unrolled they are all commands."""
    program = machine_program(*solved("tiles"))
    every = records_of(program, waits(program))
    lines = [json.loads(line) for line in json_lines(every).splitlines()]
    loops = [each for each in lines[1:] if each["kind"] == "loop"]
    assert max(each["times"] for each in loops) > 8
    assert len(lines) < len(every) / 2
    assert [each for line in lines for each in replay.unroll(line)] == json.loads(json.dumps(every))


@pytest.mark.parametrize("seed", range(20))
def test_whatever_repeats_is_unrolled_to_the_same(seed: int) -> None:
    draw = np.random.default_rng(seed)
    commands: list[dict[str, Any]] = []
    while len(commands) < 40:
        length, times, stride = (int(each) for each in draw.integers(1, 5, 3))
        block = draw.integers(0, 3, (length, 2)).tolist()
        for turn in range(times):
            commands += [
                {"kind": str(kind), "runs": [[at + turn * stride, 1], [0, number]], "index": number}
                for number, (kind, at) in enumerate(block)
            ]
    lines = with_loops(commands)
    assert [each for line in lines for each in replay.unroll(line)] == commands
    assert all(each["times"] > 2 for each in lines if each["kind"] == "loop")


@pytest.mark.parametrize("name", ["lenet", "lenet training", "transformer training"])
@pytest.mark.parametrize("place", [0, -1])
def test_a_wrong_address_shows(name: str, place: int) -> None:
    lines = emitted(name)
    load = [each for each in lines[1:] if each["kind"] == "load"][place]
    load["dram_address"] += 1 if load["dram_address"] == 0 else -1
    assert replayed(lines) != digests(*solved(name))


@pytest.mark.parametrize("name", [name for name in CASES if name != "resnet"])
def test_every_order_that_waits_leave_open_leaves_the_same(name: str) -> None:
    lines, generator, other = emitted(name), np.random.default_rng(1), 0
    program = machine_program(*solved(name))
    expected = digests(*solved(name))
    for _ in range(4):
        order = interleaved(program, waits(program), generator)
        other += order != sorted(order)
        assert replayed(lines, order) == expected
    assert other or len(lines) < 30


@pytest.mark.parametrize("name", CASES)
def test_lines_agree_with_each_other(name: str) -> None:
    header, *commands = emitted(name)
    assert header["commands"] == len(commands)
    assert [each["index"] for each in commands] == list(range(len(commands)))
    signals = {(on, each["index"]) for each in commands for on in each["waits_for"]}
    assert signals == {(each["index"], by) for each in commands for by in each["waited_for_by"]}
    assert signals == {(on, by) for by, on in waits(machine_program(*solved(name))).rows()}
    for each in commands:
        for address, _, size in each.get("spm", ()):
            assert 0 <= address < address + size <= header["spm_bytes"]
        if "buffer_address" in each:
            memory = each["kind"].removeprefix("stream_").replace("lift", "move")
            end = each["buffer_address"] + each["bytes"]
            assert end <= header["buffer_bytes"][memory.replace("lay", "move")]
        for operand in each.get("operands", ()):
            if operand["use"] != "write":
                runs = sorted(run[1:] for memory in ("spm", "in") for run in operand[memory])
                ends = [begin + size for begin, size in runs]
                assert [begin for begin, _ in runs] == [0, *ends[:-1]]
                assert ends[-1] == header["tensors"][operand["tensor"]]["bytes"]


def test_cases_have_every_kind_of_command() -> None:
    found = {each["kind"] for name in CASES for each in emitted(name)[1:]}
    assert found == {"load", "store", "stream_in", "stream_out", "lift", "lay", "compute"}
    runs = [len(each["spm"]) for name in CASES for each in emitted(name)[1:] if "spm" in each]
    assert max(runs) > 1
    assert {emitted(name)[0]["duplex"] for name in CASES} == {False, True}
