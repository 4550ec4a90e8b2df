"""Operation of each step, residency, and validity in DRAM (rules R1 to R5, R9)."""

from __future__ import annotations

from formulations.step_windows.program import WindowProgram


def order(program: WindowProgram) -> None:
    """Each step runs one operation, each after those that it waits for (R9)."""
    for step in range(program.window.steps):
        options = [literal for literal, *_ in program.options(step)]
        if len(options) > 1:
            program.cp.add_exactly_one(options)
    for one, other in program.window.before:
        for step in program.places[other]:
            runs = program.runs[other][step]
            for literal in runs:
                program.cp.add_implication(literal, program.done[one][step])


def capacity(program: WindowProgram) -> None:
    """Resident bytes fit beside the scratch (R1)."""
    for step in range(program.window.steps):
        program.cp.add(program.spare(step) >= 0)


def keep_required_operands(program: WindowProgram) -> None:
    """Required-resident operands are resident (R3, R4)."""
    for tensor, record in enumerate(program.window.tensors):
        for step in range(program.window.steps):
            for literal, operand in program.uses(step, tensor):
                if operand.required_resident:
                    program.when(program.held[tensor][step] == record.pages, literal)


def versions(program: WindowProgram) -> None:
    """No write is lost: needed bytes are on chip, or valid in DRAM (R3, R5)."""
    for tensor, record in enumerate(program.window.tensors):
        # R7: bytes of a version are needed from its writer until its last reader.
        for version in program.versions[tensor]:
            for step in range(program.window.steps):
                here = program.held[tensor][step] + program.valid[tensor][step] >= record.pages
                born = [program.done[version.writer][step]] if version.writer >= 0 else []
                if version.survives:
                    program.when(here, *born)
                    continue
                for reader in version.readers:
                    program.when(here, *born, ~program.done[reader][step])


def valid_bytes(program: WindowProgram) -> None:
    """A write leaves its streamed bytes in DRAM, if needed; a store adds to it (R4, R5)."""
    for tensor, record in enumerate(program.window.tensors):
        valid, held, stored = (
            each[tensor] for each in (program.valid, program.held, program.stored)
        )
        for step in range(program.window.steps):
            writes = program.any(program.writing(step, tensor))
            valid[step + 1] = after = program.integer(record.pages)
            for literal, use in program.uses(step, tensor):
                if use.writes and use.needed:
                    program.when(after == record.pages - held[step] + stored[step], literal)
                # A dead result is neither streamed nor stored (R4, R5).
                elif use.writes:
                    program.when(after == 0, literal)
                    program.when(stored[step] == 0, literal)
            program.when(after == valid[step] + stored[step], ~writes)
            some = program.stores(step, tensor)
            # Stored bytes are resident and not yet valid (R5).
            program.when(held[step] + valid[step] >= record.pages, some, ~writes)
        if record.due is not None:
            program.cp.add(valid[program.window.steps] >= record.due)


def loads_ahead(program: WindowProgram) -> None:
    """Bytes loaded before their use remain for the next step: others would only take room."""
    for tensor, held in enumerate(program.held):
        for step in range(min(program.window.steps, program.steps - 1)):
            some = program.load(step, tensor)[1]
            if some.index != program.false.index:
                reads = [literal for literal, use in program.uses(step, tensor) if use.reads]
                program.when(held[step + 1] >= held[step], some, ~program.any(reads))


RESIDENCY = (order, valid_bytes, capacity, keep_required_operands, versions, loads_ahead)
