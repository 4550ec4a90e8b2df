"""Networks that people train in torch, with random weights: a module and its example inputs.

Sizes are those of the published networks where these are small; language models keep their widths
and have two layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torchvision
import transformers
from torch import nn

from results.torch import handwritten

Network = tuple[nn.Module, tuple[torch.Tensor, ...]]
BATCH, TOKENS = 2, 64


class _Wrapped(nn.Module):
    """A network of ``transformers`` as a function from tensors to its first result."""

    def __init__(self, network: nn.Module, *names: str, **fixed: Any) -> None:
        super().__init__()
        self.network, self.names, self.fixed = network, names, fixed

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Name the inputs."""
        given = dict(zip(self.names, inputs, strict=True))
        result: torch.Tensor = self.network(**given, **self.fixed, return_dict=False)[0]
        return result


class _Segmentation(nn.Module):
    """The one map of a segmentation network that is used."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Return class scores of all pixels."""
        result: torch.Tensor = self.network(image)["out"]
        return result


def _vision(name: str, size: int = 224) -> Callable[[], Network]:
    def build() -> Network:
        return torchvision.models.get_model(name, weights=None), (_image(size),)

    return build


def _deeplab() -> Network:
    network = torchvision.models.segmentation.deeplabv3_resnet50(
        weights=None, weights_backbone=None
    )
    return _Segmentation(network), (_image(224),)


def _image(size: int) -> torch.Tensor:
    return torch.randn(BATCH, 3, size, size)


def _tokens(vocabulary: int = 1000) -> torch.Tensor:
    return torch.randint(0, vocabulary, (BATCH, TOKENS))


def _bert() -> Network:
    found = transformers.BertConfig(num_hidden_layers=2)
    network = transformers.BertModel(found, add_pooling_layer=False)
    return _Wrapped(network, "input_ids"), (_tokens(),)


def _gpt2() -> Network:
    found = transformers.GPT2Config(n_layer=2)
    network = transformers.GPT2LMHeadModel(found)
    return _Wrapped(network, "input_ids", use_cache=False), (_tokens(),)


def _llama() -> Network:
    found = transformers.LlamaConfig(
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=2,
        num_attention_heads=16,
        num_key_value_heads=4,
        vocab_size=8000,
    )
    network = transformers.LlamaForCausalLM(found)
    return _Wrapped(network, "input_ids", use_cache=False), (_tokens(),)


def _t5() -> Network:
    found = transformers.T5Config(num_layers=2, num_decoder_layers=2)
    network = transformers.T5ForConditionalGeneration(found)
    names = ("input_ids", "decoder_input_ids")
    return _Wrapped(network, *names, use_cache=False), (_tokens(), _tokens())


def _whisper() -> Network:
    found = transformers.WhisperConfig(
        encoder_layers=2, decoder_layers=2, d_model=384, max_source_positions=300
    )
    network = transformers.WhisperForConditionalGeneration(found)
    names = ("input_features", "decoder_input_ids")
    return (
        _Wrapped(network, *names, use_cache=False),
        (torch.randn(BATCH, 80, 600), _tokens()),
    )


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "ResNet-50": _vision("resnet50"),
    "MobileNetV3-L": _vision("mobilenet_v3_large"),
    "EfficientNet-B0": _vision("efficientnet_b0"),
    "ConvNeXt-T": _vision("convnext_tiny"),
    "ViT-B/16": _vision("vit_b_16"),
    "Swin-T": _vision("swin_t"),
    "DeepLabV3": _deeplab,
    "U-Net": handwritten.unet,
    "BERT": _bert,
    "GPT-2": _gpt2,
    "LLaMA": _llama,
    "T5": _t5,
    "Whisper": _whisper,
    "LLaMA block": handwritten.llama_block,
    "DLRM": handwritten.dlrm,
    "LSTM": handwritten.lstm,
    "GRU": handwritten.gru,
    "GroupNorm net": handwritten.group_norm,
    "Diffusion block": handwritten.diffusion_block,
    "Mixture of experts": handwritten.mixture,
}
"""What builds each of them."""
