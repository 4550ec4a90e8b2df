"""The replay again, page by page and byte by byte, and every wait looked up among all uses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from spmopt.core.schedule import Command
from spmopt.core.timeline import Access
from spmopt.verifier.arrays import AFTER, BEFORE, DURING, ScheduleArrays
from spmopt.verifier.durations import durations

Wrong = tuple[int | None, int]
"""Step (None: the end) and tensor of contents that are not what they should be."""

LOADS, STORES, OPERATIONS = "loads", "stores", "operations"


@dataclass
class NaiveReplay:
    """Runs at birth: ``spans`` of the commands, ``operations``, and what was ``wrong``."""

    view: ScheduleArrays
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    operations: list[tuple[int, int]] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)

    def __post_init__(self) -> None:
        line = self.view.timeline
        self.page = self.view.page_bytes
        self.sizes: list[int] = line.size_bytes.tolist()
        self.version = [int(there) for there in line.in_dram.tolist()]
        self.dram = [[v] * size for v, size in zip(self.version, self.sizes, strict=True)]
        self.spm: dict[int, tuple[int, int, int]] = {}
        self.uses: list[tuple[str, int, int]] = []  # of a page: by what, page, until when
        self.arrived = [0] * len(self.sizes)
        self.written = [0] * len(self.sizes)
        self.cycles: list[int] = durations(self.view).command.tolist()
        for step in range(line.steps):
            self.run(step)
        for tensor in np.flatnonzero(line.keep).tolist():
            if not self.in_dram(tensor, 0, self.sizes[tensor]):
                self.wrong.append((None, tensor))

    def run(self, step: int) -> None:
        line, commands = self.view.timeline, self.view.schedule.commands
        touched = range(int(line.first[step]), int(line.first[step + 1]))
        reads = [int(line.tensor[a]) for a in touched if line.kind[a] != Access.WRITE]
        writes = [int(line.tensor[a]) for a in touched if line.kind[a] != Access.READ]
        queue: dict[int, list[int]] = {BEFORE: [], DURING: [], AFTER: []}
        for row in np.flatnonzero(commands.step == step).tolist():
            queue[int(self.view.command_phase[row])].append(row)
        overwritten = [p for t in (*writes, -1) for _, p in self.placed(t, step)]
        for row in queue[BEFORE]:
            self.load(row)
        start = max([self.operations[-1][1] if step else 0, *(self.arrived[t] for t in reads)])
        start = max(start, self.busy(overwritten, LOADS, STORES))
        end = start + int(line.compute_cycles[step])
        for row in queue[DURING]:
            kind, tensor = commands.kind[row], int(commands.tensor[row])
            if kind == Command.LOAD:
                until = self.load(row)
                end = max(end, until if tensor in reads else 0)
            elif kind == Command.STORE:
                pages = [page for _, page in self.moved(row)]
                ready = max(self.written[tensor], self.busy(pages, LOADS))
                self.occupy(row, start if tensor in writes else ready)
            else:
                end = max(end, self.occupy(row, start))
        self.operate(step, reads, writes, queue[DURING])
        for row in queue[AFTER]:
            self.occupy(row, end)
        for row in queue[DURING] + queue[AFTER]:
            self.leave(row)
        for tensor in (*reads, *writes, -1):
            self.uses += [(OPERATIONS, page, end) for _, page in self.placed(tensor, step)]
        for tensor in writes:
            self.written[tensor] = end
        self.operations.append((start, end))

    def placed(self, tensor: int, step: int) -> list[tuple[int, int]]:
        """Page of the tensor and page of the SPM, for all of a tensor's pages."""
        table, pairs = self.view.schedule.placements, []
        for row in np.flatnonzero((table.begin <= step) & (step < table.end)).tolist():
            if table.tensor[row] == tensor:
                low, at = int(table.tensor_page[row]), int(table.spm_page[row])
                pairs += [(low + k, at + k) for k in range(int(table.pages[row]))]
        return pairs

    def moved(self, row: int) -> list[tuple[int, int]]:
        """As ``placed``, for the pages that a command moves bytes of."""
        commands = self.view.schedule.commands
        begin, end = int(commands.begin[row]), int(commands.end[row])
        pairs = self.placed(int(commands.tensor[row]), int(commands.step[row]))
        return [(k, p) for k, p in pairs if k * self.page < end and begin < (k + 1) * self.page]

    def busy(self, pages: list[int], *by: str) -> int:
        return max([end for use, page, end in self.uses if use in by and page in pages], default=0)

    def occupy(self, row: int, ready: int) -> int:
        """The channel is first in, first out; DRAM bytes keep the order of the steps."""
        commands, duplex = self.view.schedule.commands, self.view.problem.machine.duplex
        for other, (_, end) in self.spans.items():
            one_channel = not duplex or self.outward(row) == self.outward(other)
            same_bytes = (
                commands.tensor[row] == commands.tensor[other]
                and commands.step[other] < commands.step[row]
                and commands.begin[row] < commands.end[other]
                and commands.begin[other] < commands.end[row]
            )
            if one_channel or same_bytes:
                ready = max(ready, end)
        self.spans[row] = (ready, ready + self.cycles[row])
        return self.spans[row][1]

    def outward(self, row: int) -> bool:
        return bool(self.view.schedule.commands.kind[row] in (Command.STORE, Command.STREAM_OUT))

    def load(self, row: int) -> int:
        commands, pairs = self.view.schedule.commands, self.moved(row)
        pages = [page for _, page in pairs]
        tensor = int(commands.tensor[row])
        free = self.busy(pages, LOADS, STORES, OPERATIONS)
        until = self.occupy(row, max(free, self.written[tensor]))
        self.uses += [(LOADS, page, until) for page in pages]
        self.arrived[tensor] = until
        for k, page in pairs:
            low, high = k * self.page, min((k + 1) * self.page, self.sizes[tensor])
            inside = commands.begin[row] <= low and high <= commands.end[row]
            found = set(self.dram[tensor][low:high])
            whole = inside and len(found) == 1
            self.spm[page] = (tensor, found.pop() if whole else 0, k)
        return until

    def operate(self, step: int, reads: list[int], writes: list[int], during: list[int]) -> None:
        commands = self.view.schedule.commands
        needed = {tensor: self.sizes[tensor] for tensor in reads}
        for row in during:
            tensor, begin, end = (
                int(c[row]) for c in (commands.tensor, commands.begin, commands.end)
            )
            if commands.kind[row] == Command.STREAM_IN and tensor in reads:
                if not self.in_dram(tensor, begin, end):
                    self.wrong.append((step, tensor))
                if end == self.sizes[tensor]:
                    needed[tensor] = min(begin, needed[tensor])
        for tensor, size in needed.items():
            pairs, version = self.placed(tensor, step), self.version[tensor]
            right = all(self.spm.get(page) == (tensor, version, k) for k, page in pairs)
            if version == 0 or not right or len(pairs) < -(-size // self.page):
                self.wrong.append((step, tensor))
        for _, page in self.placed(-1, step):
            self.spm.pop(page, None)
        for tensor in writes:
            self.version[tensor] += 1
            for k, page in self.placed(tensor, step):
                self.spm[page] = (tensor, self.version[tensor], k)

    def leave(self, row: int) -> None:
        commands = self.view.schedule.commands
        tensor, begin, end = (int(c[row]) for c in (commands.tensor, commands.begin, commands.end))
        if commands.kind[row] == Command.STREAM_OUT:
            self.dram[tensor][begin:end] = [self.version[tensor]] * (end - begin)
        elif commands.kind[row] == Command.STORE:
            self.dram[tensor][begin:end] = [0] * (end - begin)
            for k, page in self.moved(row):
                self.uses.append((STORES, page, self.spans[row][1]))
                owner, version, content = self.spm.get(page, (tensor, 0, k))
                found = version if (owner, content) == (tensor, k) else 0
                low, high = max(begin, k * self.page), min(end, (k + 1) * self.page)
                self.dram[tensor][low:high] = [found] * (high - low)

    def in_dram(self, tensor: int, begin: int, end: int) -> bool:
        version = self.version[tensor]
        return version != 0 and set(self.dram[tensor][begin:end]) <= {version}
