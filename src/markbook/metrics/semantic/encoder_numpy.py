"""BERT, DistilBERT and RoBERTa encoders in numpy, read from a `.safetensors` file: no torch, a tenth of its size.

Source: Devlin 2019; the layer names and the file format are those of Hugging Face (safetensors: an 8-byte length,
a JSON header, raw little-endian numbers).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

FAMILIES = ("bert", "distilbert", "roberta", "xlm-roberta", "camembert")
_TYPES = {"F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}
_HEADER_CAP = 16 << 20


class NumpyEncoder:
    """A BERT-like encoder that gives the hidden states of one layer."""

    runtime = "numpy"

    def __init__(self, folder: Path, config: Mapping[str, Any], layer: int) -> None:
        """Read the weights up to `layer`."""
        weights = _Weights(read_safetensors(folder / "model.safetensors"))
        self._is_distil = config["model_type"] == "distilbert"
        self._heads = int(config["n_heads" if self._is_distil else "num_attention_heads"])
        self._eps = float(config.get("layer_norm_eps", 1e-12))
        self._first = first_position(config)
        self._activation = _activation(str(config.get("activation" if self._is_distil else "hidden_act", "gelu")))
        self._words = weights["embeddings.word_embeddings.weight"]
        self._positions = weights["embeddings.position_embeddings.weight"]
        self._norm = weights.pair("embeddings.LayerNorm")
        if not self._is_distil:
            self._positions = self._positions + weights["embeddings.token_type_embeddings.weight"][0]
        self._layers = [_Layer(weights, i, is_distil=self._is_distil) for i in range(layer)]

    def encode(self, batch: Sequence[Sequence[int]]) -> list[Array]:
        """Return each text's hidden states, one row a token. Each text is computed by itself."""
        return [self._one(ids) for ids in batch]

    def _one(self, ids: Sequence[int]) -> Array:
        hidden = self._words[list(ids)] + self._positions[self._first : self._first + len(ids)]
        hidden = _normalise(hidden, self._norm, self._eps)
        for layer in self._layers:
            hidden = layer.forward(hidden, self._heads, self._eps, self._activation)
        return hidden


def first_position(config: Mapping[str, Any]) -> int:
    """Return the position of a text's first token: RoBERTa, whose code CamemBERT's is, counts from the padding index on."""
    is_roberta = any(name in config.get("model_type", "") for name in ("roberta", "camembert"))
    return int(config.get("pad_token_id", 1)) + 1 if is_roberta else 0


class _Weights:
    """Tensors by name, whatever prefix the checkpoint puts before them."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        anchor = "embeddings.word_embeddings.weight"
        prefix = next((name.removesuffix(anchor) for name in tensors if name.endswith(anchor)), "")
        self._tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}

    def __getitem__(self, name: str) -> Array:
        return self._tensors[name]

    def pair(self, name: str) -> tuple[Array, Array]:
        """Return a weight, transposed where it is a matrix, and its bias."""
        return np.ascontiguousarray(self[f"{name}.weight"].T), self[f"{name}.bias"]


class _Layer:
    def __init__(self, weights: _Weights, i: int, *, is_distil: bool) -> None:
        if is_distil:
            at = f"transformer.layer.{i}"
            names = [f"{at}.attention.{part}_lin" for part in "qkv"]
            rest = ("attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm")
        else:
            at = f"encoder.layer.{i}"
            names = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
            rest = (
                *("attention.output.dense", "attention.output.LayerNorm"),
                *("intermediate.dense", "output.dense", "output.LayerNorm"),
            )
        pairs = [weights.pair(name) for name in names]
        self._qkv = np.concatenate([w for w, _ in pairs], axis=1), np.concatenate([b for _, b in pairs])
        self._out, self._norm_1, self._up, self._down, self._norm_2 = (weights.pair(f"{at}.{part}") for part in rest)

    def forward(self, hidden: Array, heads: int, eps: float, activation: Callable[[Array], Array]) -> Array:
        n, width = hidden.shape
        size = width // heads
        parts = (hidden @ self._qkv[0] + self._qkv[1]).reshape(n, 3, heads, size).transpose(1, 2, 0, 3)
        query, key, value = parts
        scores = query @ key.transpose(0, 2, 1)
        scores *= np.float32(1 / math.sqrt(size))
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        attended = (scores @ value).transpose(1, 0, 2).reshape(n, width)
        hidden = _normalise(attended @ self._out[0] + self._out[1] + hidden, self._norm_1, eps)
        inner = activation(hidden @ self._up[0] + self._up[1])
        return _normalise(inner @ self._down[0] + self._down[1] + hidden, self._norm_2, eps)


def _normalise(x: Array, norm: tuple[Array, Array], eps: float) -> Array:
    x = x - x.mean(axis=-1, keepdims=True)
    variance = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
    x /= np.sqrt(variance + np.float32(eps))
    x *= norm[0]
    x += norm[1]
    return x


def _gelu(x: Array) -> Array:
    from scipy.special import erf

    half: Array = erf(x * np.float32(math.sqrt(0.5)))
    half += np.float32(1)
    half *= x
    half *= np.float32(0.5)
    return half


def _gelu_by_tanh(x: Array) -> Array:
    inner: Array = np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3))
    half: Array = np.float32(0.5) * x * (1 + inner)
    return half


def _relu(x: Array) -> Array:
    positive: Array = np.maximum(x, np.float32(0))
    return positive


def _silu(x: Array) -> Array:
    gated: Array = x / (1 + np.exp(-x))
    return gated


_ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "gelu": _gelu,
    "gelu_fast": _gelu_by_tanh,
    "gelu_new": _gelu_by_tanh,
    "gelu_python": _gelu,
    "gelu_pytorch_tanh": _gelu_by_tanh,
    "relu": _relu,
    "silu": _silu,
    "swish": _silu,
}


def _activation(name: str) -> Callable[[Array], Array]:
    """Return the function between a layer's two matrices.

    Raises:
        ValueError: another one than those that are known here.
    """
    if name not in _ACTIVATIONS:
        raise ValueError(f"its activation {name!r} is not known here; runtime=transformers knows it")
    return _ACTIVATIONS[name]


def read_safetensors(path: Path) -> dict[str, Array]:
    """Return the tensors of a file as float32, memory-mapped where they are so already.

    Raises:
        ValueError: it is no safetensors file, or a tensor lies outside it.
    """
    data = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(data[:8].tobytes(), "little")
    if not 0 < length <= min(_HEADER_CAP, len(data) - 8):
        raise ValueError(f"{path} is no safetensors file")
    header = json.loads(data[8 : 8 + length].tobytes())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in _TYPES:
            continue
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        if not 0 <= start <= end <= len(data):
            raise ValueError(f"{path}: tensor {name!r} lies outside the file")
        tensor = data[start:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = tensor.astype(np.float32, copy=False)
    return tensors
