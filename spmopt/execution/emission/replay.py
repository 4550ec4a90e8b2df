"""Replay ``commands.jsonl`` and print a digest of each tensor in DRAM at the end.

Run it as ``python replay.py commands.jsonl [SEED]``. It needs Python, numpy and that file alone,
and is an example of a back end: README.md, which stands beside it, describes the format.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np


class Machine:
    """A scratchpad, DRAM, the buffers of streams and moves, and a kernel for any operation."""

    def __init__(self, header: dict[str, Any], seed: int) -> None:
        self.tensors, self.operations = header["tensors"], header["operations"]
        self.spm = np.full(header["spm_bytes"], 0xFF, np.uint8)
        self.dram = np.full(header["dram_bytes"], 0xFF, np.uint8)
        sizes = header["buffer_bytes"]
        self.buffers = {name: np.full(sizes[name], 0xFF, np.uint8) for name in sizes}
        generator = np.random.default_rng(seed)
        for each in self.tensors:
            if each["in_dram"]:
                begin, size = each["dram_address"], each["bytes"]
                self.dram[begin : begin + size] = np.frombuffer(generator.bytes(size), np.uint8)

    def execute(self, command: dict[str, Any]) -> None:
        """Execute a command; in the order of the file nothing has to wait."""
        kind = command["kind"]
        if kind == "compute":
            self.compute(command)
            return
        size, offset = command["bytes"], command["tensor_offset"]
        outside, at = self.dram, command.get("dram_address", 0)
        if kind in ("lift", "lay"):
            outside, at = self.buffers["move"], command["buffer_address"]
        if kind in ("stream_in", "stream_out"):
            buffer, place = self.buffers[kind.removeprefix("stream_")], command["buffer_address"]
            there, here = outside[at : at + size], buffer[place : place + size]
            if kind == "stream_in":
                here[:] = there
            else:
                there[:] = here
            return
        for address, begin, count in command["spm"]:
            here, low = self.spm[address : address + count], at + begin - offset
            if kind in ("load", "lay"):
                here[:] = outside[low : low + count]
            else:
                outside[low : low + count] = here

    def compute(self, command: dict[str, Any]) -> None:
        """Gather the operands of an operation, compute, scatter its results."""
        operation = self.operations[command["operation"]]
        operands = {each["tensor"]: each for each in command["operands"]}
        for address, _, count in command["scratch"]:
            self.spm[address : address + count] = 0xFF  # its contents may be anything
        digest = blake2b(operation["name"].encode(), digest_size=8, person=b"operation")
        for tensor in operation["reads"]:
            content = np.full(self.tensors[tensor]["bytes"], 0xFF, np.uint8)
            for memory, where in (("in", self.buffers["in"]), ("spm", self.spm)):
                for address, begin, count in operands[tensor][memory]:
                    content[begin : begin + count] = where[address : address + count]
            digest.update(content.data)
        for place, tensor in enumerate(operation["writes"]):
            own = digest.copy()
            own.update(place.to_bytes(4, "little"))
            seed = int.from_bytes(own.digest(), "little")
            content = fill(seed, self.tensors[tensor]["bytes"])
            for memory, where in (("out", self.buffers["out"]), ("spm", self.spm)):
                for address, begin, count in operands[tensor][memory]:
                    where[address : address + count] = content[begin : begin + count]


def unroll(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the commands of a line: one, or those of a loop."""
    if line.get("kind") != "loop":
        yield line
        return
    for turn in range(line["times"]):
        for first, stride in zip(line["commands"], line["strides"], strict=True):
            yield later(first, stride, turn)


def later(first: Any, stride: Any, turn: int) -> Any:
    """Return a value of the first iteration as it is so many later."""
    if isinstance(first, dict):
        return first | {name: later(first[name], each, turn) for name, each in stride.items()}
    if isinstance(first, list):
        return [later(*both, turn) for both in zip(first, stride, strict=True)]
    return first if isinstance(first, str) else first + stride * turn


def fill(seed: int, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return pseudo-random bytes (SplitMix64)."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    state = np.arange(1, -(-size // 8) + 1, dtype=np.uint64) * golden + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
    return state.astype("<u8").view(np.uint8)[:size]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        machine = Machine(json.loads(next(file)), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
        for line in file:
            for command in unroll(json.loads(line)):
                machine.execute(command)
    for number, each in enumerate(machine.tensors):
        content = machine.dram[each["dram_address"] :][: each["bytes"]]
        print(number, blake2b(content.data, digest_size=8).hexdigest())
