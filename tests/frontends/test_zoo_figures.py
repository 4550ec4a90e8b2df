"""Parameters, MACs and operation counts against published figures.

Sources: TV: torchvision 0.15 model pages (exact parameters; GFLOPS there are GMACs). HF: the
``bert-large-uncased``, ``prajjwal1/bert-tiny`` and ``huawei-noah/TinyBERT_General_4L_312D``
checkpoints (with pooler), ``t5-small``, ``t5-large``, Llama 2, ``Meta-Llama-3-8B``, ``gpt2`` and
the U-Net of ``stable-diffusion-v1-4``, counted exactly. K: Keras applications (trainable), and
569 M multiply-adds in the paper. U: model summary of Ultralytics YOLOv5 6.0, 109.0 GFLOPs. TC: half
of what ``FlopCounterMode`` of torch 2.14 counts in the models of torchvision 0.29 and transformers
4.57, without weights.
"""

from __future__ import annotations

from math import prod

import pytest

from spmopt.core.graph import Graph
from spmopt.core.problem import TensorKind
from spmopt.frontends import zoo
from spmopt.graph.elements import with_element_type
from spmopt.graph.statistics import parameters as whole_tables

from .figures import macs, parameters


@pytest.mark.parametrize(
    ("name", "count", "gmacs", "source"),
    [
        ("resnet18", 11_689_512, 1.81, "TV"),
        ("resnet50", 25_557_032, 4.09, "TV"),
        ("vgg16", 138_357_544, 15.47, "TV"),
        ("alexnet", 61_100_840, 0.71, "TV"),
        ("googlenet", 6_624_904, 1.50, "TV"),
        ("squeezenet", 1_248_424, 0.82, "TV"),
        ("mobilenetv2", 3_504_872, 0.30, "TV"),
        ("bert-large", 335_141_888, None, "HF"),
        ("bert-tiny", 4_385_920, None, "HF"),
        ("tinybert", 14_350_248, None, "HF"),
        ("t5-small", 60_506_624, None, "HF"),
        ("t5-large", 737_668_096, None, "HF"),
        ("gpt2", 124_439_808, None, "HF"),
        ("llama3", 8_030_261_248, None, "HF"),
        ("stable-diffusion", 859_520_964, None, "HF"),
        ("convnext-tiny", 28_589_128, 4.46, "TV"),
        ("mobilenet", 4_231_976, 0.57, "K"),
        ("yolov5l", 46_563_709, 54.5, "U"),
    ],
)
def test_published_figures(name: str, count: int, gmacs: float | None, source: str) -> None:
    graph = zoo.network(name, batch=1)
    assert parameters(graph) == count, source
    if gmacs is not None:
        assert round(macs(graph) / 1e9, 2) == gmacs, source


def _normalizations(graph: Graph) -> int:
    """Scales and shifts of batch normalization."""
    return sum(
        graph.values[value].elements
        for node in graph.nodes
        if node.operator == "BatchNormalization"
        for value in node.inputs[1:3]
    )


def test_yolov2_tiny_fills_its_weight_file() -> None:
    # yolov2-tiny.weights: 44,948,600 bytes with a header of 20; darknet stores the statistics too.
    graph = zoo.network("yolov2-tiny", batch=1)
    assert 4 * (parameters(graph) + _normalizations(graph)) + 20 == 44_948_600
    # Redmon's page of models: 5.41 billion operations.
    assert round(2 * macs(graph) / 1e9, 2) == 5.41


def test_faster_rcnn_parameters() -> None:
    # Torchvision: 19,386,354 in fasterrcnn_mobilenet_v3_large_fpn, its batch norms being frozen.
    graph = zoo.network("faster-rcnn", batch=1)
    assert parameters(graph) - _normalizations(graph) == 19_386_354
    assert _normalizations(graph) == 24_400
    short = zoo.network("faster-rcnn-resnet50", batch=1)
    # Torchvision's ResNet-50 without its last stage (14,964,736) and classifier; proposals.
    body = 25_557_032 - 14_964_736 - 2_049_000
    proposals = 512 * (9 * 1024 + 1) + (18 + 36) * (512 + 1)
    assert parameters(short) == body + proposals
    full = zoo.network("faster-rcnn-resnet50", batch=1, regions=1)
    assert parameters(full) == body + proposals + 14_964_736 + 5 * 91 * (2048 + 1)


def test_recommendation_parameters() -> None:
    # Whole tables, though the graph holds the rows of one step.
    rows = 2_197_225 + 855_776
    perceptron = 257 * 256 + 257 * 128 + 129 * 64 + (64 + 64 + 1)
    assert whole_tables(zoo.network("ncf", batch=3)) == rows * (64 + 128) + perceptron
    bottom = 14 * 512 + 513 * 256 + 257 * 128
    top = (479 + 1) * 1024 + 1025 * 1024 + 1025 * 512 + 513 * 256 + 257
    expected = 187_767_399 * 128 + bottom + top
    assert whole_tables(zoo.network("dlrm", batch=3)) == expected
    assert parameters(zoo.network("dlrm", batch=3)) == 26 * 3 * 128 + bottom + top


def test_t5_macs() -> None:
    n, s, t, h, layers, vocabulary = 2, 6, 4, 512, 3, 32_128
    graph = zoo.network("t5-small", batch=n, sequence=s, target=t, layers=layers)
    encoder = s * (4 * h * h + 8 * h * h) + 2 * s * s * h
    cross = 2 * t * h * h + 2 * s * h * h + 2 * s * t * h
    decoder = t * (4 * h * h + 8 * h * h) + 2 * t * t * h + cross
    assert macs(graph) == n * (layers * (encoder + decoder) + t * h * vocabulary)


def test_llama_parameters_of_both_kinds_of_attention() -> None:
    assert parameters(zoo.network("llama", sequence=8)) == 68_976_648_192  # Llama-2-70b
    sizes = {"layers": 32, "hidden": 4096, "heads": 32, "groups": 32, "inner": 11_008}
    assert parameters(zoo.network("llama", sequence=8, **sizes)) == 6_738_415_616  # Llama-2-7b


def test_llama_macs() -> None:
    n, t, h, inner, vocabulary, layers = 2, 6, 64, 96, 100, 3
    sizes = {"hidden": h, "heads": 8, "groups": 2, "inner": inner, "vocabulary": vocabulary}
    graph = zoo.network("llama", batch=n, sequence=t, layers=layers, **sizes)
    attention = 2 * t * h * h + 2 * t * h * h // 4 + 2 * t * t * h
    assert macs(graph) == n * (layers * (attention + 3 * t * h * inner) + t * h * vocabulary)


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [
        ("convnext-tiny", {}, 4_455_531_264),
        ("gpt2", {"sequence": 1024}, 145_824_153_600),
        # Without the angles of rotary positions, which transformers writes as a matrix product.
        ("llama3", {"layers": 2, "sequence": 64}, 61_605_941_248 - 64 * 64),
        ("llama3", {"layers": 2, "sequence": 1, "past": 63}, 962_592_832 - 64),
    ],
)
def test_macs_that_torch_counts(name: str, settings: dict[str, int], count: int) -> None:
    assert macs(zoo.network(name, batch=1, **settings)) == count  # TC


def test_macs_of_stable_diffusion() -> None:
    graph = zoo.network("stable-diffusion", image=512)
    # Kim et al., BK-SDM: 338.7 G by thop, which leaves out products of two activations and counts
    # four operations for each element of a layer norm.
    normalized = sum(
        prod(graph.shapes(node.outputs)[0])
        for node in graph.nodes
        if node.operator == "LayerNormalization"
    )
    # Pixels and channels of each resolution, and how many Transformers it has.
    maps = ((64 * 64, 320, 5), (32 * 32, 640, 5), (16 * 16, 1280, 5), (8 * 8, 1280, 1))
    attention = sum(2 * count * pixels * (pixels + 77) * c for pixels, c, count in maps)
    assert macs(graph) - attention == 338_749_194_240 - 4 * normalized


def test_decoding_reads_each_weight_and_the_cache_once() -> None:
    # The model and 8191 tokens at two bytes, but for the rows of the embedding that are not read.
    graph = with_element_type(zoo.network("llama3", sequence=1, past=8191), "bf16")
    assert whole_tables(graph) == 8_030_261_248
    kept = sum(
        value.size_bytes
        for value in graph.values
        if value.kind is TensorKind.WEIGHT
        or (value.kind is TensorKind.INPUT and ".cache." in value.name)
    )
    weights = 8_030_261_248 - (128_256 - 1) * 4096
    assert kept == 2 * (weights + 32 * 2 * 8191 * 1024)


def test_a_token_behind_a_cache_is_the_last_of_all_tokens() -> None:
    sizes = {"layers": 2, "hidden": 64, "heads": 8, "groups": 2, "inner": 96, "vocabulary": 100}
    both, first = (
        macs(zoo.network("llama3", batch=2, sequence=tokens, **sizes)) for tokens in (7, 6)
    )
    last = macs(zoo.network("llama3", batch=2, sequence=1, past=6, **sizes))
    # Of the tokens before, none asks for the last one, though their scores are counted there.
    assert both - first == last + 2 * 2 * (2 * 6 * 64)


def test_transformer_parameters() -> None:
    graph = zoo.network("transformer", batch=1)
    h, inner, vocabulary, layers = 1024, 4096, 37_000, 6
    attention = 4 * h * h + 2 * h  # no biases in the paper; a normalization
    feed_forward = 2 * h * inner + inner + h + 2 * h
    expected = vocabulary * h + layers * (3 * attention + 2 * feed_forward)
    assert parameters(graph) == expected
    # Vaswani et al., table 3: 213 million for "big", vocabulary of about 37,000.
    assert parameters(graph) == pytest.approx(213e6, rel=0.01)


def _gnmt_weights(h: int, layers: int) -> int:
    """Gate weights: (inputs + H) x H, four a layer."""
    both = 2 * 4 * (h + h) * h
    second = 4 * (2 * h + h) * h
    encoder = both + second + (layers - 2) * 4 * (h + h) * h
    return encoder + layers * 4 * (2 * h + h) * h


def test_gnmt_parameters_and_macs() -> None:
    h, layers, vocabulary, n, t = 1024, 8, 32_000, 32, 50
    graph = zoo.network("gnmt")
    gates = _gnmt_weights(h, layers)
    tables = 2 * vocabulary * h + vocabulary * h + vocabulary
    assert parameters(graph) == gates + tables + 2 * h * h + h
    step = n * t * (gates + vocabulary * h)
    attention = n * t * (2 * h * h + t * h + t * h)  # query and keys; scores and mean
    assert macs(graph) == step + attention


@pytest.mark.parametrize("name", zoo.names())
def test_macs_are_linear_in_the_batch(name: str) -> None:
    small = {"steps": 3, "layers": 2} if name == "gnmt" else {}
    once = macs(zoo.network(name, batch=1, **small))
    assert macs(zoo.network(name, batch=3, **small)) == 3 * once
