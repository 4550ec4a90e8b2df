"""Detectors, T5, LLaMA and recommenders: structure, and what they hold of embedding tables."""

from __future__ import annotations

from spmopt.core.problem import TensorKind
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph

from .figures import MACHINE, moving, output_shapes


def test_outputs_of_detectors() -> None:
    tiny = zoo.network("yolov2-tiny", batch=2)
    assert output_shapes(tiny) == [(2, 425, 13, 13)]
    large = zoo.network("yolov5l", batch=2)
    assert output_shapes(large) == [(2, 255, size, size) for size in (80, 40, 20)]
    proposals = [(2, channels, size, size) for size in (10, 10, 5) for channels in (15, 60)]
    found = zoo.network("faster-rcnn", batch=2, regions=6)
    assert output_shapes(found) == [*proposals, (12, 91), (12, 364)]
    short = zoo.network("faster-rcnn-resnet50", batch=2)
    assert output_shapes(short) == [(2, 18, 14, 14), (2, 36, 14, 14)]
    full = zoo.network("faster-rcnn-resnet50", batch=2, regions=5)
    assert output_shapes(full)[2:] == [(10, 91), (10, 364)]


def test_proposals_share_their_weights() -> None:
    step = training_graph(zoo.network("faster-rcnn", batch=1, regions=2))
    names = [value.name for value in step.values if value.kind is TensorKind.WEIGHT_GRADIENT]
    assert names.count("proposals.inner.weight.gradient") == 1
    adding = [
        node.name
        for node in step.nodes
        if node.operator == "ConvWeightGradient"
        and node.name.startswith("proposals")
        # dY, X, and the sum so far where it is not the first.
        and len(node.inputs) > 2
    ]
    assert len(adding) == 2 * 3


def test_t5_shares_one_position_table_a_stack() -> None:
    graph = zoo.network("t5-small", batch=2, sequence=6, target=4, layers=3)
    nodes = {node.name: node for node in graph.nodes}
    assert graph.shapes(nodes["encoder2.self.positions"].inputs) == ((2, 8, 6, 6), (8, 6, 6))
    assert graph.shapes(nodes["decoder0.cross.scores"].outputs) == ((2, 8, 4, 6),)
    assert "decoder0.cross.positions" not in nodes
    counts = moving(graph)
    assert counts["RMSNormalization"] == 3 * 2 + 3 * 3 + 2
    assert counts["Transpose"] == 2
    shared = nodes["decoder0.self.positions"].inputs[1]
    assert sum(shared in node.inputs for node in graph.nodes) == 3
    assert output_shapes(graph) == [(2 * 4, 32_128)]


def test_llama_heads_of_a_group_are_rows_of_one_product() -> None:
    sizes = {"layers": 2, "hidden": 64, "heads": 8, "groups": 2, "inner": 96}
    graph = zoo.network("llama", batch=3, sequence=5, **sizes)
    nodes = {node.name: node for node in graph.nodes}
    scores, turned = nodes["layer1.self.scores"], nodes["layer1.self.key.turned"]
    assert graph.shapes(scores.inputs) == ((3, 2, 4 * 5, 8), (3, 2, 8, 5))
    assert graph.shapes(turned.inputs) == ((3, 5, 16), (5, 4), (5, 4))
    assert graph.shapes(nodes["layer1.self.context"].outputs) == ((3, 2, 4 * 5, 8),)
    counts = moving(graph)
    assert counts["RMSNormalization"] == 2 * 2 + 1
    assert counts["RotaryEmbedding"] == counts["Add"] == 2 * 2
    assert counts["Swish"] == counts["Mul"] == 2
    assert output_shapes(graph) == [(3 * 5, 32_000)]


def test_llama_reads_its_cache_where_it_is() -> None:
    sizes = {"layers": 2, "hidden": 64, "heads": 8, "groups": 2, "inner": 96, "vocabulary": 100}
    graph = zoo.network("llama3", batch=3, sequence=2, past=7, **sizes)
    nodes = {node.name: node for node in graph.nodes}
    cached = {v: value for v, value in enumerate(graph.values) if ".cache." in value.name}
    read = {v: [node for node in graph.nodes if v in node.inputs] for v in cached}
    inputs = {v: value.shape for v, value in cached.items() if value.kind is TensorKind.INPUT}
    assert sorted(inputs.values()) == [(3, 2, 7, 8)] * 2 + [(3, 2, 8, 7)] * 2
    assert all([node.operator for node in read[v]] == ["MatMul"] for v in inputs)
    assert graph.shapes(nodes["layer1.self.softmax"].inputs) == ((3, 2, 4 * 2, 7 + 2),)
    assert output_shapes(graph) == [(3, 2, 16)] * 4 + [(3 * 2, 100)]
    filled = zoo.network("llama3", batch=3, sequence=2, cache=1, **sizes)
    assert output_shapes(filled) == output_shapes(graph)
    assert not any(".cache." in value.name for value in filled.values)


def test_gpt2_normalizes_before_its_sublayers() -> None:
    graph = zoo.network("gpt2", batch=2, sequence=6, layers=3)
    nodes = {node.name: node for node in graph.nodes}
    (before,) = graph.shapes(nodes["layer0.self.norm"].outputs)
    assert before == (2, 6, 768)
    assert nodes["layer0.self.norm"].inputs[0] == nodes["layer0.self.add"].inputs[0]
    assert nodes["layer1.ffn.norm"].inputs[0] == nodes["layer1.self.add"].outputs[0]
    assert moving(graph)["LayerNormalization"] == 2 * 3 + 1
    assert output_shapes(graph) == [(2 * 6, 50_257)]


def test_convnext_has_a_wide_layer_on_the_channels_of_each_pixel() -> None:
    graph = zoo.network("convnext-tiny", batch=2)
    nodes = {node.name: node for node in graph.nodes}
    assert graph.shapes(nodes["stage2.8.depthwise"].inputs[:2]) == (
        (2, 384, 14, 14),
        (384, 1, 7, 7),
    )
    assert graph.shapes(nodes["stage2.8.1"].inputs[:2]) == ((2 * 14 * 14, 384), (384, 4 * 384))
    assert graph.shapes(nodes["stage2.8.norm"].outputs) == ((2, 14, 14, 384),)
    counts = moving(graph)
    assert counts["Conv"] == 1 + 3 + 18
    assert counts["LayerNormalization"] == 1 + 3 + 18 + 1
    assert output_shapes(graph) == [(2, 1000)]


def test_stable_diffusion_joins_the_maps_of_its_way_down() -> None:
    graph = zoo.network("stable-diffusion", batch=2)
    nodes = {node.name: node for node in graph.nodes}
    joined = [node for node in graph.nodes if node.operator == "Concat"]
    assert [graph.shapes(node.outputs)[0][1] for node in joined] == [
        *[2560] * 5,
        *[1920, 1920, 1280, 960, 960, 640, 640],
    ]
    cross, own = nodes["down1.0.transformer.cross.scores"], nodes["middle.1.self.scores"]
    assert graph.shapes(cross.inputs) == ((2, 8, 16 * 16, 80), (2, 8, 80, 77))
    assert graph.shapes(own.inputs) == ((2, 8, 4 * 4, 160), (2, 8, 160, 4 * 4))
    assert graph.shapes(nodes["up3.0.block.time.add"].inputs) == ((2, 1280, 4, 4), (2, 1280, 1, 1))
    counts = moving(graph)
    assert counts["GroupNormalization"] == 22 * 2 + 16 + 1
    assert counts["LayerNormalization"] == 16 * 3
    assert output_shapes(graph) == [(2, 4, 32, 32)]


def test_only_looked_up_rows_of_tables_are_tensors() -> None:
    graph = zoo.network("dlrm", batch=16)
    looked_up = [node for node in graph.nodes if node.operator == "Lookup"]
    assert len(looked_up) == 26
    assert {graph.shapes(node.inputs) for node in looked_up} == {((16, 128),)}
    assert sum(int(str(node.attributes["table"])) for node in looked_up) == 187_767_399
    step = lower(training_graph(graph, optimizer="sgd"), MACHINE)
    assert max(tensor.size_bytes for tensor in step.tensors) == 4 * 1024 * 1024
    rows = [tensor for tensor in step.tensors if tensor.name.startswith("table")]
    weights = [tensor for tensor in rows if tensor.kind is TensorKind.WEIGHT]
    assert len(weights) == 26
    # Read, and written back by the optimizer.
    assert all(t.size_bytes == 4 * 16 * 128 and t.in_dram and t.keep for t in weights)


def test_interaction_of_dlrm_takes_each_pair_once() -> None:
    graph = zoo.network("dlrm", batch=2, tables=3)
    nodes = {node.name: node for node in graph.nodes}
    assert graph.shapes(nodes["interaction"].outputs) == ((2, 4, 4),)
    assert graph.shapes(nodes["interaction.pairs"].outputs) == ((2, 6),)
    assert graph.shapes(nodes["top.join"].outputs) == ((2, 128 + 6),)


def test_ncf_multiplies_factors_and_joins_the_rest() -> None:
    graph = zoo.network("ncf", batch=2, users=10, items=20, factors=4, width=6)
    nodes = {node.name: node for node in graph.nodes}
    assert graph.shapes(nodes["product"].outputs) == ((2, 4),)
    assert graph.shapes(nodes["perceptron0"].inputs[:2]) == ((2, 12), (12, 12))
    assert graph.shapes(nodes["prediction"].inputs[:2]) == ((2, 4 + 3), (7, 1))
