"""Lowering: a graph and a machine make a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from spmopt.core.compression import ratios_of
from spmopt.core.elements import ElementType, element_type, sum_type
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node
from spmopt.core.machine import Machine, SystolicArray
from spmopt.core.mappings import waiting_cycles
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operand, Operation, OpMapping
from spmopt.core.order import hazards
from spmopt.core.problem import ASSUMED, Problem, TensorKind
from spmopt.graph import operators
from spmopt.graph.array_accesses import array_accesses
from spmopt.graph.attention_tiles import Attention, attention_blocks
from spmopt.graph.buffers import page_buffer, row_buffers, window_buffers
from spmopt.graph.cycles import (
    POOLINGS,
    access_cycles,
    compute_cycles,
    pooling_cycles,
    product_type,
)
from spmopt.graph.gradient_tiles import gradient_tilings
from spmopt.graph.in_place import inline_nodes
from spmopt.graph.lowered_tensors import tensors_of, tensors_of_kind
from spmopt.graph.naming import all_unused
from spmopt.graph.operators.spec import Gemm, Shape, Style
from spmopt.graph.preparation import CHOOSE, LOWERINGS, TILED, prepare, with_name
from spmopt.graph.tile_choice import other_tilings
from spmopt.graph.tiles import ProductTensors, budget_bytes, least_traffic
from spmopt.graph.tiling import Tiling, tile

_TWICE = Operand(fetches=2)
_IDEAL = Tiling(operands={})
_NEEDS_ROOM = (*TILED, "panel")
"""Lowerings under which some operand or tile of a matrix product must stay."""
_PARAMETERS = TensorKind.WEIGHT, TensorKind.WEIGHT_GRADIENT
_FEW = 32
"""Operands of a node that is worth comparing with others."""
Shapes = tuple[tuple[int, ...], ...]


def lower(graph: Graph, machine: Machine, *, mapper: str = LOWERINGS[0]) -> Problem:
    """Fix sizes, cycles, residency needs and order (PROBLEM.md, section 1).

    Every node of the graph, :func:`prepare` first, becomes an operation, in the
    graph's order, except views: a view and its operand are one tensor, named after the operand,
    and kept if either is. A value that no operation touches is left out. Predecessors are all
    earlier operations that wrote an operand of an operation, or read one of its results, since the
    write before.

    ``ideal``: every operand crosses the DRAM boundary once, nothing is required-resident, no
    scratch. ``weights``: the same, but in matrix products weights and their gradients are
    required-resident. ``panel``: matrix products keep an operand or need scratch, see
    :mod:`spmopt.graph.tiling`. ``tiled``: products go in the tiles that move least
    (:mod:`spmopt.graph.tiles`), and streams have buffers, which are scratch
    (:mod:`spmopt.graph.buffers`). ``choose``: that, and other mappings to choose among
    (:mod:`spmopt.graph.tile_choice`). Operands read again once a sum of them is known stream once
    where two rows of them fit in the room of an operation's buffers, else twice: for the
    statistics, which one reading gives, and for their users. Required-resident operands and
    scratch of an operation always fit in the SPM, whatever its size.

    Compute cycles: see :mod:`spmopt.graph.cycles`; where the machine names the banks of its
    scratchpad, no fewer than these need to deliver ``spm_read_bytes`` and to accept
    ``spm_write_bytes``: a step cannot end before. ``macs`` are those of matrix products;
    point-wise work counts in cycles only. Where the machine has energies of MACs by element type,
    those of an operation are ``own_picojoules``. ``spm_read_bytes`` are the bytes of the operands
    read, once a pass, ``spm_write_bytes`` those of the results; where ``array.reuse`` is set,
    factors of products as often as the array reads them, and partial sums
    (:mod:`~spmopt.graph.array_accesses`).

    Raises
    ------
    InputError
        An unknown lowering or operator, or a graph that computes nothing.
    """
    return Mapper(graph, machine, mapper).problem()


class Used(NamedTuple):
    """Tensors of a node, by position; the same tensor may stand in several places."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def reads(self) -> tuple[int, ...]:
        """Each tensor that is read, once."""
        return tuple(dict.fromkeys(self.inputs)) if len(self.inputs) > 1 else self.inputs

    @property
    def writes(self) -> tuple[int, ...]:
        """Each tensor that is written, once."""
        return tuple(dict.fromkeys(self.outputs)) if len(self.outputs) > 1 else self.outputs


class Mapper:
    """A graph on a machine: its tensors, its operations, and the mapping of each.

    Attributes
    ----------
    graph
        The graph, :func:`prepare`.
    nodes
        Those that become operations, in order: all but views.
    tensors
        A view and its operand are one.
    tensor_of
        The tensor of each value that an operation touches.
    sizes
        Bytes of each.
    """

    def __init__(self, graph: Graph, machine: Machine, mapper: str) -> None:
        self.name = with_name(mapper)
        graph = prepare(graph, self.name, machine)
        self.graph, self.machine = graph, machine
        # Looked up once an operator, not once a node: large graphs have few operators.
        every = dict.fromkeys([node.operator for node in graph.nodes])
        rules = {name: operators.lookup(name) for name in every}
        views = {name for name, spec in rules.items() if spec.style is Style.VIEW}
        self.tensors, self.tensor_of = tensors_of(graph, views)
        self.sizes = [tensor.size_bytes for tensor in self.tensors]
        self.bypassing = tensors_of_kind(self.tensors, machine.bypass)
        ratios = ratios_of(machine, self.tensors) if machine.compression else []
        self._ratios = {t: ratio for t, ratio in enumerate(ratios) if ratio != 1}
        self._weights = tensors_of_kind(self.tensors, _PARAMETERS if self.name == "weights" else ())
        self.nodes = [node for node in graph.nodes if node.operator not in views]
        self.specs = [rules[node.operator] for node in self.nodes]
        inline = inline_nodes(graph) if machine.vector and machine.vector.inline else set()
        places = [at for at, node in enumerate(graph.nodes) if node.operator not in views]
        self._inline = [at in inline for at in places]
        of = self.tensor_of
        self.used = [
            Used(tuple([of[v] for v in node.inputs]), tuple([of[v] for v in node.outputs]))
            for node in self.nodes
        ]
        self._mappings: dict[object, tuple[OpMapping, ...]] = {}
        self.product_types = self._types_of_products()

    def problem(self) -> Problem:
        """Return the problem."""
        names = all_unused([node.name for node in self.nodes])
        accesses = [(used.reads, used.writes) for used in self.used]
        # Read after write, write after read and write after write: all of them order operations.
        before = hazards(accesses, len(self.tensors))
        operations = tuple(
            Operation(
                name=name,
                reads=reads,
                writes=writes,
                mappings=self.mappings(at, used, self.shapes(self.nodes[at]), self.sizes),
                predecessors=tuple(sorted(earlier)),
                kind=self.kind(at),
                element_type=self.product_types[at] or "",
            )
            for at, (name, used, (reads, writes), earlier) in enumerate(
                zip(names, self.used, accesses, before, strict=True)
            )
        )
        return Problem(
            name=self.graph.name,
            machine=self.machine,
            tensors=self.tensors,
            operations=operations,
            mapper=self.name,
        )

    def in_first_mappings(self) -> Mapper:
        """Return one that gives each operation the first of its mappings alone."""
        if self.name not in CHOOSE:
            return self
        found = copy(self)
        found.name, found._mappings = TILED[TILED.index(self.name) + 1], {}
        return found

    def kind(self, at: int) -> str:
        """Return the name of a node's operator in results; one of an assumed rule is marked."""
        node = self.nodes[at]
        if node.operator.startswith("AssumedPointwise") and "operator" in node.attributes:
            # What is left of the name is "Gradient" in a training graph, else nothing.
            back = node.operator.removeprefix("AssumedPointwise")
            return f"{node.attributes['operator']}{back}{ASSUMED}"
        return node.operator + ASSUMED if self.specs[at].assumed else node.operator

    def shapes(self, node: Node) -> tuple[Shapes, Shapes]:
        """Return the shapes of inputs and outputs."""
        return self.graph.shapes(node.inputs), self.graph.shapes(node.outputs)

    def _types_of_products(self) -> list[str | None]:
        """Return the element type of each matrix product where the machine tells types apart."""
        found: list[str | None] = [None] * len(self.nodes)
        # Shapes of products are put together here only where rates differ by type.
        if not self.machine.types:
            return found
        for at, (node, spec) in enumerate(zip(self.nodes, self.specs, strict=True)):
            if spec.gemm is not None:
                gemm = spec.gemm(*self.shapes(node), node.attributes)
                types = [self.graph.values[v].element_type for v in node.inputs]
                found[at] = product_type(gemm, types)
        return found

    def mappings(
        self,
        at: int,
        used: Used,
        shapes: tuple[Shapes, Shapes],
        sizes: Sequence[int] | Mapping[int, int],
        *,
        worked: tuple[Shapes, Shapes] | None = None,
    ) -> tuple[OpMapping, ...]:
        """Return the mappings of the operation ``at``, of operands of these shapes and sizes.

        Operations that are alike share theirs. ``worked``: shapes by which its work counts, where
        some of its inputs are another's as well.
        """
        tensors = used.inputs + used.outputs
        bytes_of = tuple([sizes[tensor] for tensor in tensors])
        worked = worked or shapes
        # Sizes follow from shapes and types, but those of tiles may be rounded differently.
        key = (self._likeness(at, tensors), shapes, worked, bytes_of)
        mapping = self._mappings.get(key)
        if mapping is None:
            mapping = self._mappings[key] = self._new_mappings(at, used, shapes, sizes, worked)
        return mapping

    def alike(self, at: int) -> tuple[object, ...]:
        """Return the same for operations that have the same mappings, whatever tile they are of."""
        used = self.used[at]
        tensors = used.inputs + used.outputs
        sizes = tuple([self.sizes[tensor] for tensor in tensors])
        return self._likeness(at, tensors), self.shapes(self.nodes[at]), sizes

    def _likeness(self, at: int, tensors: tuple[int, ...]) -> tuple[object, ...]:
        """Return the key of mappings beside shapes and sizes; ``tensors`` are the operands."""
        node, bypassing, weights = self.nodes[at], self.bypassing, self._weights
        places = tensors
        if len(tensors) <= _FEW:  # most often all different, which needs no list of places
            several = len(set(tensors)) != len(tensors)
            places = tuple(map(tensors.index, tensors)) if several else ()
        # Which operands bypass, and which must stay, changes the mapping: both are in the key.
        barred = tuple([t in bypassing for t in tensors]) if bypassing else ()
        kept = tuple([t in weights for t in tensors]) if weights else ()
        moved = tuple([self._ratios.get(t) for t in tensors]) if self._ratios else ()
        attributes = tuple(node.attributes.items()) if node.attributes else ()
        worked = self.product_types[at], self._inline[at]
        return node.operator, attributes, worked, places, barred, kept, moved

    def _new_mappings(
        self,
        at: int,
        used: Used,
        shapes: tuple[Shapes, Shapes],
        sizes: Sequence[int] | Mapping[int, int],
        worked: tuple[Shapes, Shapes],
    ) -> tuple[OpMapping, ...]:
        node, spec, machine = self.nodes[at], self.specs[at], self.machine
        rules = [rule for rule in (spec.gemm, spec.second) if rule is not None]
        products = [rule(*worked, node.attributes) for rule in rules]
        if len(products) == 2 and not products[0].c:
            return self._attention(at, used, sizes, worked, products)
        gemm = products[0] if products else None
        # Before any tiling: with all three roles barred there is no legal choice left.
        if gemm is not None and self.bypassing and self.name in _NEEDS_ROOM:
            self._require_one_to_stay(node, used, gemm)
        tilings = [_IDEAL]
        if self.name in TILED:
            tilings = self._tile(at, used, shapes, sizes, products)
        elif self.name == "panel" and gemm is not None:
            tilings = [
                tile(*(gemm, used.inputs, used.outputs, sizes, machine), bypassing=self.bypassing)
            ]
        elif self.name == "weights" and gemm is not None:
            tilings = [self._whole_weights(used, gemm, sizes)]
        work = 0 if self._inline[at] else spec.operations(*worked, node.attributes)
        if gemm is None and work:
            work += (machine.special_cost - 1) * spec.special(*worked, node.attributes)
        pooled = node.operator in POOLINGS and pooling_cycles(machine, work, worked[1][0])
        of_type = self.product_types[at]
        cycles = pooled or compute_cycles(machine, work, gemm, of_type)
        if len(products) == 2:
            cycles = sum(compute_cycles(machine, 2 * g.macs, g, of_type) for g in products)
        found = [
            self._mapping_of(at, used, sizes, tiling, products=products, cycles=cycles)
            for tiling in tilings
        ]
        # Tilings may differ in nothing that counts.
        return tuple(dict.fromkeys(found))

    def _attention(
        self,
        at: int,
        used: Used,
        sizes: Sequence[int] | Mapping[int, int],
        worked: tuple[Shapes, Shapes],
        products: Sequence[Gemm],
    ) -> tuple[OpMapping, ...]:
        """Return the mappings of attention as one operation."""
        node, spec, machine = self.nodes[at], self.specs[at], self.machine
        of_type, own = self.product_types[at], self._type(node.inputs[0])
        of_sums = element_type(sum_type(of_type or own.name)).bytes_of(1)
        work = spec.operations(*worked, node.attributes) - 2 * sum(each.macs for each in products)
        work += (machine.special_cost - 1) * spec.special(*worked, node.attributes)
        attention = Attention.of(
            products,
            worked[0],
            [sizes[t] for t in (*used.inputs, *used.outputs)],
            node.attributes,
            work=work,
            sum_bytes=of_sums,
            element_type=of_type,
        )
        every = attention_blocks(attention, machine, budget_bytes(machine))
        found = list[OpMapping]()
        for each in every if self.name in CHOOSE else every[:1]:
            tiling = Tiling(
                operands=attention.operands(used.inputs, each), scratch_bytes=each.scratch_bytes
            )
            # They are written, read for their softmax, written again, and read by the second
            # product.
            inner = (of_sums + own.bytes_of(1)) * each.scores
            computed = attention.products(each)
            given, cycles = (at, used, sizes, tiling), each.cycles
            found.append(self._mapping_of(*given, products=computed, cycles=cycles, inner=inner))
        return tuple(dict.fromkeys(found))

    def _type(self, value: int) -> ElementType:
        return self.graph.values[value].type

    def _mapping_of(
        self,
        at: int,
        used: Used,
        sizes: Sequence[int] | Mapping[int, int],
        tiling: Tiling,
        *,
        products: Sequence[Gemm],
        cycles: int,
        inner: int = 0,
    ) -> OpMapping:
        """Return a mapping; ``inner``: bytes that it writes to the scratchpad, and reads again."""
        machine = self.machine
        reads, writes = used.reads, used.writes
        tensors = dict.fromkeys(reads + writes)
        operands = tuple(tiling.operands.get(t, STREAMED) for t in tensors)
        # Bypassing operands go straight to the array, without an access of the scratchpad.
        once = {
            t: 0 if t in self.bypassing else sizes[t] * o.fetches
            for t, o in zip(reads, operands, strict=False)
        }
        # An operand of two products is read for each of them, however often it is fetched.
        again = sum(sizes[t] * sum(each) - once[t] for t, each in tiling.reads.items())
        read = sum(once.values()) + inner + again
        written = sum(sizes[t] for t in writes if t not in self.bypassing) + inner
        for place, gemm in enumerate(products if machine.array and machine.array.reuse else ()):
            assert machine.array is not None
            its = {t: sizes[t] * each[place] for t, each in tiling.reads.items()}
            more, partial = self._is_accessed_again(at, used, gemm, machine.array, {**once, **its})
            read, written = read + more + partial, written + partial
        of_type = self.product_types[at]
        macs = sum(gemm.macs for gemm in products)
        # Integers, as all exact costs are sums of integers: picojoules, rounded once an operation.
        own = round(macs * machine.mac_pj(of_type)) if machine.has_own_energies else 0
        # Banks and array work at the same time: the slower one decides.
        cycles = max(cycles, access_cycles(machine, read, written))
        return OpMapping(
            compute_cycles=cycles + waiting_cycles(machine, tiling.serial_bytes),
            waiting_bytes=tiling.serial_bytes,
            operands=operands,
            scratch_bytes=tiling.scratch_bytes,
            macs=macs,
            spm_read_bytes=read,
            spm_write_bytes=written,
            own_picojoules=own,
        )

    def _whole_weights(
        self, used: Used, gemm: Gemm, sizes: Sequence[int] | Mapping[int, int]
    ) -> Tiling:
        """Keep weights and their gradients, if they take at most half of the pages together."""
        inside = chain.from_iterable(gemm.roles(used.inputs, used.outputs))
        whole = [t for t in dict.fromkeys(inside) if t in self._weights and t not in self.bypassing]
        pages = sum(-(-sizes[t] // self.machine.page_bytes) for t in whole)
        # The other half is for operands that stream past, and for prefetches.
        if pages > self.machine.spm_pages // 2:
            return _IDEAL
        return Tiling(operands=dict.fromkeys(whole, REQUIRED_RESIDENT))

    def _require_one_to_stay(self, node: Node, used: Used, gemm: Gemm) -> None:
        roles = gemm.roles(used.inputs, used.outputs)
        if all(self.bypassing.intersection(role) for role in roles):
            raise InputError(
                f"node {node.name} ({node.operator}): both factors and the result bypass the "
                f"scratchpad of {self.machine.name}, so that no tile of them can stay; leave a "
                "kind out of bypass, or take mapper ideal"
            )

    def _tile(
        self,
        at: int,
        used: Used,
        shapes: tuple[Shapes, Shapes],
        sizes: Sequence[int] | Mapping[int, int],
        products: Sequence[Gemm],
    ) -> list[Tiling]:
        """Return how operands may be used, and the buffers of those that stream.

        One way, or several to choose among.
        """
        machine, budget = self.machine, budget_bytes(self.machine)
        operands = _operands(used, shapes)
        of_shape = {name: shape for name, (_, shape) in operands.items()}
        bytes_of = {name: sizes[tensor] for name, (tensor, _) in operands.items()}
        nest = operators.computation(self.nodes[at], *shapes)
        of = {name: tensor for name, (tensor, _) in operands.items()}
        on_chip = [t for t in used.reads + used.writes if t not in self.bypassing]
        # Bypassing tensors have no buffer.
        windows = window_buffers(nest, of_shape, bytes_of)
        maps = {of[name]: lines for name, lines in windows.items()}
        pages = {t: page_buffer(sizes[t], machine.page_bytes) for t in on_chip}
        if products:
            every = [
                ProductTensors(
                    *(gemm, used.inputs, used.outputs, sizes),
                    maps=maps,
                    bypassing=self.bypassing,
                    ratios=self._ratios,
                )
                for gemm in products
            ]
            inside = {t for each in every for role in each.roles for t in role}
            # A bias or addend streams by pages beside the product.
            others = sum(size for t, size in pages.items() if t not in inside)
            tensors, several = replace(every[-1], others=others), self.name in CHOOSE
            if len(products) == 2:
                return gradient_tilings(every[0], tensors, machine, several=several)
            more = other_tilings(tensors, machine) if several else []
            return [least_traffic(tensors, machine), *more]
        rows = {of[name]: size for name, size in row_buffers(nest, of_shape, bytes_of).items()}
        lines = {t: each.size_bytes for t, each in maps.items() if t in on_chip}
        held = {t: size for t, size in rows.items() if t in on_chip}
        # Later entries win: rows and lines replace the pages of the same tensor.
        once = sum({**pages, **lines, **held}.values())
        again = dict.fromkeys(rows.keys() - held.keys(), _TWICE)
        # With room for two rows a row stays from its first reading to the last: one fetch.
        if not held:
            return [Tiling(operands=again, scratch_bytes=min(once, budget))]
        buffers = min(sum({**pages, **lines}.values()), budget)
        stay = Tiling(operands=again, scratch_bytes=once)
        twice = Tiling(operands=dict.fromkeys(rows, _TWICE), scratch_bytes=buffers)
        if self.name not in CHOOSE:
            return [stay if once <= budget else twice]
        fits = once <= machine.spm_pages * machine.page_bytes
        return [stay, twice] if once <= budget else [twice, *([stay] if fits else [])]

    def _is_accessed_again(
        self, at: int, used: Used, gemm: Gemm, array: SystolicArray, once: Mapping[int, int]
    ) -> tuple[int, int]:
        """Return bytes of factors that the array reads beyond ``once``, and of partial sums.

        Each factor is read no less than once a pass. Partial sums are of the type of sums.
        """
        accesses = array_accesses(array, gemm)
        types = [self.graph.values[value].type for value in self.nodes[at].inputs]
        roles = gemm.roles(used.inputs, used.outputs)
        again = 0
        for tensors, places, elements in (
            (roles[0], gemm.a, accesses.a),
            (roles[1], gemm.b, accesses.b),
        ):
            if not places:  # probabilities of attention, of the type of its queries
                known = types[0].bytes_of(gemm.batch * gemm.m * gemm.k)
                again += max(0, types[0].bytes_of(elements) - known)
                continue
            if self.bypassing.issuperset(tensors):
                continue
            widest = max((types[place] for place in places), key=lambda each: each.bits)
            known = sum(once[tensor] for tensor in dict.fromkeys(tensors))
            # The first reading of each byte is counted in `once` already.
            again += max(0, widest.bytes_of(elements) - known)
        # Partial sums are wider than factors: of fp16 products they are fp32.
        summed = element_type(sum_type(product_type(gemm, [each.name for each in types])))
        on_chip = not roles[2] or not self.bypassing.issuperset(roles[2])
        return again, summed.bytes_of(accesses.partial) if on_chip else 0


def _operands(used: Used, shapes: tuple[Shapes, Shapes]) -> dict[str, tuple[int, Shape]]:
    """Return tensor and shape of each operand, by its name in the operator's computation."""
    places = (("x", used.inputs, shapes[0]), ("y", used.outputs, shapes[1]))
    return {
        f"{letter}{k}": operand
        for letter, tensors, of_shape in places
        for k, operand in enumerate(zip(tensors, of_shape, strict=False))
    }
