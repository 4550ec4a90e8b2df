"""The operators that ONNX Runtime adds to ONNX (domain com.microsoft), as those of ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

from spmopt.core.errors import InputError
from spmopt.graph.composites.attention import (
    Heads,
    attend,
    heads_first,
    keys_before,
    split_heads,
    with_past,
)
from spmopt.graph.composites.call import Call, Composite, Results


def as_other(operator: str, *places: int, keep: Sequence[str] = ()) -> Composite:
    """Return a function that adds one operator of ONNX with some operands and attributes."""

    def composite(call: Call) -> Results:
        kept = {name: call.attributes[name] for name in keep if name in call.attributes}
        return [call.add(operator, *call.values(*(places or (0,))), part="", **kept)]

    return composite


def add_bias(operator: str) -> Composite:
    """Return a function that adds a bias, if there is one, before an activation."""
    return lambda call: [call.add(operator, call.plus(call.value(0), 1, "bias"))]


def _activate(call: Call, y: int) -> int:
    name = call.text("activation", "")
    return call.add(name, y, part="activation") if name else y


def conv_and_activation(call: Call) -> Results:
    """Return a convolution, perhaps a sum, and an activation."""
    attributes = {k: v for k, v in call.attributes.items() if not k.startswith("activation")}
    y = call.add("Conv", *call.values(0, 1, 2), part="", **attributes)
    return [_activate(call, call.plus(y, 3, "sum"))]


def gemm_and_activation(call: Call) -> Results:
    """Return a product and an activation."""
    turned = {k: v for k, v in call.attributes.items() if k in ("transA", "transB")}
    return [_activate(call, call.add("Gemm", *call.values(0, 1, 2), part="", **turned))]


def matmul_of_transposes(call: Call) -> Results:
    """Return the product of matrices, either perhaps transposed."""
    a, b = call.operand(0).shape, call.operand(1).shape
    turned = [call.number(name, 0) for name in ("transA", "transB")]
    # Moving a batch axis is a transposition, which a product does not contain.
    if any(call.number(name, 0) for name in ("transBatchA", "transBatchB")):
        raise InputError("transposes its first axis too (transBatchA); write it as Transpose")
    # Equal batches need no broadcasting, so that Einsum reads both where they lie.
    if any(turned) and len(a) == len(b) > 1 and a[:-2] == b[:-2]:
        shared = ascii_letters[: len(a) - 2]
        first, second = ("ZX" if turned[0] else "XZ"), ("YZ" if turned[1] else "ZY")
        equation = f"{shared}{first},{shared}{second}->{shared}XY"
        return [call.add("Einsum", *call.values(0, 1), equation=equation)]
    values = [
        _swap(call, value) if swap else value
        for value, swap in zip(call.values(0, 1), turned, strict=True)
    ]
    return [call.add("MatMul", *values)]


def _swap(call: Call, value: int) -> int:
    """Return matrices with their last two axes exchanged; a vector as it is."""
    rank = len(call.shape(value))
    return call.transpose(value, *range(rank - 2), rank - 1, rank - 2) if rank > 1 else value


def skip_normalization(operator: str) -> Composite:
    """Return a function that adds a skip connection, and a bias, before a normalization."""
    # Input positions differ: the simplified form has no beta before its bias.
    places = (2, 3) if operator == "LayerNormalization" else (2,)
    bias = 4 if operator == "LayerNormalization" else 3

    def composite(call: Call) -> Results:
        x = call.plus(call.add("Add", *call.values(0, 1), part="skip"), bias, "bias")
        y = call.add(operator, x, *call.values(*places), axis=-1)
        # Results 1 and 2 are statistics of training, which inference never reads.
        return [y, None, None, x]

    return composite


def embedding(call: Call) -> Results:
    """Look words, positions and segments up, add them, and normalize."""
    words = call.add("Gather", call.value(2), call.value(0), part="words", axis=0)
    # Without position ids ONNX Runtime counts from 0: the first rows of the table.
    steps = call.operand(0).shape[1]
    if call.find(8) is not None:
        places = call.add("Gather", call.value(3), call.value(8), part="positions", axis=0)
    else:
        places = call.add(
            "Slice", call.value(3), part="positions", starts=(0,), ends=(steps,), axes=(0,)
        )
    x = call.add("Add", words, places, part="sum")
    if call.find(1) is not None and call.find(4) is not None:
        segments = call.add("Gather", call.value(4), call.value(1), part="segments", axis=0)
        x = call.add("Add", x, segments, part="sum")
    y = call.add("LayerNormalization", x, *call.values(5, 6), axis=-1)
    return [y, None, x]


def dynamic_product(call: Call) -> Results:
    """Quantize A, multiply integers, and scale the sums; a bias is added."""
    a, scale, zero = call.many("DynamicQuantizeLinear", call.value(0), part="quantize")
    operands = [a, call.value(1), scale, *call.values(2), zero]
    y = call.add("com.microsoft.MatMulIntegerToFloat", *operands, part="product")
    return [call.plus(y, 4, "bias")]


def product_of_integers(call: Call) -> Results:
    """Multiply integers and scale the sums; a bias is added."""
    operands = [
        found.index()
        for place in range(6)
        if (found := call.find(place)) is not None
        # Single known numbers (scales, zero points) are part of the operation, no operands.
        and (place < 2 or found.contents is None or found.elements > 1)
    ]
    return [call.plus(call.add("com.microsoft.MatMulIntegerToFloat", *operands), 6, "bias")]


def concat_of_integers(call: Call) -> Results:
    """Put integers side by side: each third operand from the third on."""
    # Inputs come as scale and zero point of Y, then (tensor, scale, zero point) each.
    values = call.values(*range(2, len(call.operands), 3))
    return [call.add("Concat", *values, axis=call.number("axis", 1))]


def multi_head_attention(call: Call) -> Results:
    """Return attention of query, key and value, which may be packed in one tensor."""
    heads = call.number("num_heads", 0)
    queries, keys, values = _unpack(call, heads)
    past = [call.value(k) if call.find(k) else None for k in (6, 7)]
    keys, values = with_past(call, keys, past[0]), with_past(call, values, past[1])
    masks = call.values(5)
    if (padding := call.find(4)) is not None:
        masks.append(_of_padding(call, padding.index()))
    before = keys_before(call, past[0], causal=bool(call.number("unidirectional", 0)))
    found = attend(call, queries, keys, values, masks=masks, past=before).result
    return [_flat(call, found), *_present(call, keys, values)]


def _unpack(call: Call, heads: int) -> tuple[Heads, Heads, Heads]:
    q_bias, k_bias, v_bias = _biases(call)
    q = split_heads(call, _with_bias(call, call.value(0), q_bias), heads)
    k = split_heads(call, _with_bias(call, call.value(1), k_bias), heads)
    return q, k, split_heads(call, _with_bias(call, call.value(2), v_bias), heads)


def _biases(call: Call) -> tuple[int | None, int | None, int | None]:
    if call.find(3) is None:
        return None, None, None
    query = call.operand(0).shape[-1]
    # The bias holds those of Q, K and V in a row; values may be of another width.
    value = call.operand(3).shape[0] - 2 * query
    q, k, v = call.parts(3, 0, (query, query, value))
    return q, k, v


def _with_bias(call: Call, value: int, bias: int | None) -> int:
    # A cached key or value comes as (B, H, S, D) with its bias added already.
    if bias is None or len(call.shape(value)) != 3:
        return value
    return call.add("Add", value, bias, part="bias")


def _of_padding(call: Call, mask: int) -> int:
    """Return a mask of keys, (B, S) or (B, S, S), as scores take it; lengths alone are none."""
    shape = call.shape(mask)
    wide = {2: (shape[0], 1, 1, *shape[1:]), 3: (shape[0], 1, *shape[1:])}.get(len(shape), shape)
    if len(shape) < 2:
        raise InputError("takes its mask as lengths; export it with a mask of keys")
    return call.reshape(mask, *wide)


def _flat(call: Call, heads: Heads) -> int:
    """Return the result as (B, S, H D)."""
    value = heads.value
    if heads.layout == "bhsd":
        value = call.transpose(value, 0, 2, 1, 3)
    shape = call.shape(value)
    return call.reshape(value, *shape[:2], shape[2] * shape[3])


def _present(call: Call, keys: Heads, values: Heads) -> Results:
    return [
        heads_first(call, each) if call.wants(k) else None
        for k, each in enumerate((keys, values), start=1)
    ]


def group_query_attention(call: Call) -> Results:
    """Return attention of queries that share keys, turned by their positions if so said."""
    heads, shared = call.number("num_heads", 0), call.number("kv_num_heads", 0)
    if min(heads, shared) < 1:
        raise InputError("attributes num_heads and kv_num_heads must be at least 1")
    if call.find(1) is None:
        # Packed QKV: the last axis holds all heads of Q, then those of K, then those of V.
        depth = call.operand(0).shape[-1] // (heads + 2 * shared)
        flat = call.split(call.value(0), 2, [depth * each for each in (heads, shared, shared)])
    else:
        flat = tuple(call.values(0, 1, 2))
    q, k, v = (
        split_heads(call, value, of)
        for value, of in zip(flat, (heads, shared, shared), strict=True)
    )
    if call.number("do_rotary", 0):
        q, k = (Heads(value=_turn(call, each), layout=each.layout) for each in (q, k))
    past = [call.value(place) if call.find(place) else None for place in (3, 4)]
    keys, values = with_past(call, k, past[0]), with_past(call, v, past[1])
    masks = call.values(10)
    cap = call.attributes.get("softcap", 0.0) not in (0, 0.0)
    before = keys_before(call, past[0], causal=True)
    found = attend(call, q, keys, values, masks=masks, cap=cap, past=before).result
    return [_flat(call, found), *_present(call, keys, values)]


def _turn(call: Call, heads: Heads) -> int:
    """Turn pairs of features by the tables of cosines and sines."""
    tables = call.values(7, 8)
    if len(tables) != 2:
        raise InputError("needs tables of cosines and sines (inputs 7 and 8) for do_rotary")
    return call.add("RotaryEmbedding", heads.value, *tables, part="rotary")


def attention_with_weights(call: Call) -> Results:
    """Return attention of one input multiplied by weights of queries, keys and values together."""
    x = call.plus(call.add("MatMul", *call.values(0, 1), part="projection"), 2, "bias")
    heads, width = call.number("num_heads", 0), call.shape(x)[-1]
    # By default the three are of equal width, as in ONNX Runtime.
    sizes = call.attributes.get("qkv_hidden_sizes", (width // 3,) * 3)
    if not isinstance(sizes, tuple) or sum(sizes) != width:
        raise InputError(f"qkv_hidden_sizes {sizes} do not fill {width} columns")
    q, k, v = (split_heads(call, part, heads) for part in call.split(x, 2, sizes))
    masks = call.values(5)
    if (padding := call.find(3)) is not None and len(padding.shape) > 1:
        masks.append(_of_padding(call, padding.index()))
    before: list[int | None] = [None, None]
    if call.find(4) is not None:
        # The past is one tensor (2, B, H, S, D): keys, then values.
        parts = call.split(call.value(4), 0, (1, 1))
        before = [call.reshape(each, *call.shape(each)[1:]) for each in parts]
    keys, values = with_past(call, k, before[0]), with_past(call, v, before[1])
    past = keys_before(call, before[0], causal=bool(call.number("unidirectional", 0)))
    found = attend(call, q, keys, values, masks=masks, past=past).result
    present = None
    if call.wants(1):
        both = [heads_first(call, each) for each in (keys, values)]
        present = call.join([call.reshape(each, 1, *call.shape(each)) for each in both], 0)
    return [_flat(call, found), present]


MICROSOFT: dict[str, Composite] = {
    f"com.microsoft.{name}": composite
    for name, composite in {
        "Gelu": as_other("Gelu"),
        "FastGelu": add_bias("Gelu"),
        "BiasGelu": add_bias("Gelu"),
        "QuickGelu": as_other("Swish"),
        "FusedConv": conv_and_activation,
        "FusedGemm": gemm_and_activation,
        "FusedMatMul": matmul_of_transposes,
        "SkipLayerNormalization": skip_normalization("LayerNormalization"),
        "SkipSimplifiedLayerNormalization": skip_normalization("RMSNormalization"),
        "EmbedLayerNormalization": embedding,
        "DynamicQuantizeMatMul": dynamic_product,
        "MatMulIntegerToFloat": product_of_integers,
        "QLinearConcat": concat_of_integers,
        "MultiHeadAttention": multi_head_attention,
        "GroupQueryAttention": group_query_attention,
        "Attention": attention_with_weights,
        "RotaryEmbedding": as_other("RotaryEmbedding", 0, 2, 3, 1),
    }.items()
}
"""By the names of the operators."""
