"""Attention, as two products with a softmax between, in the layout that its operands have.

The scores are ``q k^T`` for each head, the result is their softmax times ``v``: products over
labels of axes (``Einsum``), so that heads need not be moved to the front first. Where several heads
of queries share one of keys (grouped queries), they are rows of one product. Masks and a limit on
scores are operations of their own; scaling is part of the product. Blocks that a causal mask hides
are skipped where attention is one operation (:mod:`spmopt.graph.attention_tiles`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spmopt.core.errors import InputError
from spmopt.graph.composites.call import Call, Results


@dataclass(frozen=True, kw_only=True)
class Heads:
    """A tensor of four axes and their meaning: b(atch), s(equence), h(eads), d(epth)."""

    value: int
    layout: str

    def size(self, call: Call, axis: str) -> int:
        """Return the size of an axis."""
        return call.shape(self.value)[self.layout.index(axis)]


def split_heads(call: Call, value: int, heads: int) -> Heads:
    """Return (B, S, H D) or (B, H, S, D) with its axes named."""
    shape = call.shape(value)
    if len(shape) == 4:
        return Heads(value=value, layout="bhsd")
    if len(shape) != 3 or heads < 1 or shape[2] % heads:
        raise InputError(f"an operand of shape {shape} does not hold {heads} heads")
    return Heads(value=call.reshape(value, *shape[:2], heads, shape[2] // heads), layout="bshd")


def heads_first(call: Call, heads: Heads) -> int:
    """Return the tensor as (B, H, S, D)."""
    if heads.layout == "bhsd":
        return heads.value
    return call.transpose(heads.value, *(heads.layout.index(axis) for axis in "bhsd"))


def with_past(call: Call, heads: Heads, past: int | None) -> Heads:
    """Return keys or values behind those of the past, (B, H, S, D)."""
    if past is None:
        return heads
    # Caches of ONNX are (B, H, S, D); the new tokens go behind them along S.
    joined = call.join([past, heads_first(call, heads)], 2)
    return Heads(value=joined, layout="bhsd")


def keys_before(call: Call, past: int | None, *, causal: bool) -> int | None:
    """Return how many keys (B, H, S, D) are of the past, for :func:`attend`."""
    if not causal:
        return None
    return 0 if past is None else call.shape(past)[2]


@dataclass(frozen=True, kw_only=True)
class Attended:
    """Results of attention: its result in the layout of the queries, and scores (B, H, S, S)."""

    result: Heads
    scores: Sequence[int]


def attend(
    call: Call,
    queries: Heads,
    keys: Heads,
    values: Heads,
    *,
    masks: Sequence[int] = (),
    cap: bool = False,
    past: int | None = None,
) -> Attended:
    """Add the products, the masks and the softmax.

    ``past``: so many keys come before that of the first query, which sees none after its own; None:
    all queries see all keys.

    ``scores`` of the result are those of the product, limited, masked, and their softmax.
    """
    heads, shared = queries.size(call, "h"), keys.size(call, "h")
    if shared < 1 or heads % shared:
        raise InputError(f"{heads} heads of queries do not share {shared} of keys")
    batch, rows, columns = queries.size(call, "b"), queries.size(call, "s"), keys.size(call, "s")
    group = heads // shared
    q, of_q = queries.value, queries.layout.replace("s", "q")
    if group > 1:
        of_q = of_q.replace("h", "hg")
        # (B, S, H, D) to (B, S, H / g, g, D): g queries are rows of one product.
        q = call.reshape(q, *_group(call.shape(q), queries.layout.index("h"), group))
    of_k, of_v = (each.layout.replace("s", "k") for each in (keys, values))
    of_s = "bhgqk" if group > 1 else "bhqk"
    scores = call.add("Einsum", q, keys.value, part="scores", equation=f"{of_q},{of_k}->{of_s}")
    scores = call.reshape(scores, batch, heads, rows, columns)
    stages = [scores]
    # softcap * tanh(scores / softcap); neither scaling is an operation of its own.
    if cap:  # divide, tanh, multiply
        scores = call.add("Tanh", scores, part="cap")
    stages.append(scores)
    for mask in masks:
        scores = _mask(call, scores, mask)
    stages.append(scores)
    causal = {} if past is None else {"causal": 1, "hidden": columns - rows - past}
    scores = call.add("Softmax", scores, part="softmax", axis=-1, **causal)
    stages.append(scores)
    if group > 1:
        scores = call.reshape(scores, batch, shared, group, rows, columns)
    # Values may be of another depth than queries and keys, hence a label of their own.
    wide = of_q.replace("d", "v")
    result = call.add(
        "Einsum",
        scores,
        values.value,
        part="values",
        equation=f"{of_s},{of_v.replace('d', 'v')}->{wide}",
    )
    if group > 1:
        shape, at = call.shape(result), wide.index("h")
        result = call.reshape(result, *shape[:at], heads, *shape[at + 2 :])
    return Attended(result=Heads(value=result, layout=queries.layout), scores=stages)


def _group(shape: tuple[int, ...], axis: int, group: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] // group, group, *shape[axis + 1 :])


def _mask(call: Call, scores: int, mask: int) -> int:
    """Add a mask, or select by it; columns that it lacks are hidden."""
    # From opset 24 a mask may be shorter than the keys: -inf at its end; a width of 1 broadcasts.
    missing = call.shape(scores)[-1] - call.shape(mask)[-1]
    if missing > 0 and call.shape(mask)[-1] > 1:
        pads = (*(0,) * (2 * len(call.shape(mask)) - 1), missing)
        mask = call.add("Pad", mask, part="mask", pads=pads)
    # A boolean mask selects, any other is an addend (0 or -inf).
    if call.type(mask) != "bool":
        return call.add("Add", scores, mask, part="masked")
    hidden = call.builder.state(f"{call.name}.hidden", (), element_type=call.type(scores))
    return call.add("Where", mask, scores, hidden, part="masked")


def attention(call: Call) -> Results:
    """Return ``Attention`` of ONNX: Y, present keys and values, scores."""
    packed = len(call.operand(0).shape) == 3
    heads = call.number("q_num_heads", 0)
    # Only 3-D operands need the numbers of heads; 4-D ones have them in their shapes.
    shared = call.number("kv_num_heads", 0) or heads
    queries = split_heads(call, call.value(0), heads)
    keys, values = (split_heads(call, call.value(k), shared) for k in (1, 2))
    past = [call.value(k) if call.find(k) else None for k in (4, 5)]
    keys, values = with_past(call, keys, past[0]), with_past(call, values, past[1])
    cap = call.attributes.get("softcap", 0.0) not in (0, 0.0)
    # Of a cache from outside only some keys hold tokens: how many is not known here.
    causal = bool(call.number("is_causal", 0)) and call.find(6) is None
    before = keys_before(call, past[0], causal=causal)
    found = attend(call, queries, keys, values, masks=call.values(3), cap=cap, past=before)
    y = found.result.value
    if packed:
        y = call.reshape(y, *call.shape(y)[:2], -1)
    mode = call.number("qk_matmul_output_mode", 0)
    # Moving heads to the front is work, so it is done only where the caches are read.
    present = [heads_first(call, each) for each in (keys, values) if call.wants(1) or call.wants(2)]
    # The cap comes before the mask, else a mask of -inf would become finite; mode 1 is between.
    return [y, *(present or (None, None)), found.scores[min(max(mode, 0), 3)]]
