"""What must not change a comparison, a run or a report: order, names, direction, file format, a twin, what is missing."""

import csv
import itertools
import json
import random
import shutil

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings, strategies as st
from support.review_kit import papers

from markbook import compare
from markbook.cli import cli
from markbook.errors import DataError
from markbook.results.alignment import merge_sheets
from markbook.results.comparison import compare_sheet
from markbook.results.leaderboard import standings
from markbook.results.sheet import Aliases, Cell, Sheet
from markbook.types import Missing, MissingKind

GONE = Cell(None, Missing(MissingKind.FAILED, "down"))
SHARES = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0])
"""Exact in binary, so that 1 - share is exact too."""
LAW = settings(max_examples=40, deadline=None)


@st.composite
def sheets(draw, *, models=("A", "B", "C"), missing=True):
    """Return the marks of models on samples: verdicts, or shares; some missing."""
    size = draw(st.integers(4, 14))
    verdicts = draw(st.booleans())
    value = st.sampled_from([0.0, 1.0]) if verdicts else SHARES
    cell = st.one_of(value, value, value, st.none()) if missing else value
    marks = {}
    for model in models:
        values = draw(st.lists(cell, min_size=size, max_size=size))
        values[:2] = [one or 0.0 for one in values[:2]]  # two samples at least are everybody's
        marks[model] = {
            f"s{at:02}": GONE if one is None else Cell(one, passed=one == 1 if verdicts else None)
            for at, one in enumerate(values)
        }
    return Sheet("m", marks, (0.0, 1.0))


def changed(sheet, *, samples=None, models=None, cell=lambda one: one, direction=None, name=lambda one: one):
    """Return a sheet in another order, with other names or other marks."""
    order = samples or list(next(iter(sheet.marks.values())))
    marks = {
        model: {name(sample): cell(sheet.marks[model][sample]) for sample in order} for model in models or sheet.marks
    }
    return Sheet(sheet.metric, marks, sheet.range, direction or sheet.direction)


def numbers(sheet, *, flipped=False):
    """Return means and differences by model, each difference from both sides."""
    found = compare_sheet(sheet)
    means = {}
    for one in found.standings:
        value, ends = one.summary.value, one.summary.interval
        low, high = (None, None) if ends is None else (ends.low, ends.high)
        if flipped:
            value, low, high = (None if end is None else 1 - end for end in (value, high, low))
        means[one.model] = (value, low, high, one.summary.n, one.rank, one.group)
    pairs = {}
    for pair in found.pairs:
        record = pair.to_record()
        ends = record["interval"] or {"low": None, "high": None}
        difference = [record["difference"], ends["low"], ends["high"]]
        turned = [None if one is None else -one for one in (difference[0], difference[2], difference[1])]
        there, back = (turned, difference) if flipped else (difference, turned)
        rest = [record["p"], record["p_adjusted"], record["n"]]
        pairs[record["model_a"], record["model_b"]] = [*there, *rest]
        pairs[record["model_b"], record["model_a"]] = [*back, *rest]
    return means, pairs


def assert_alike(one, other):
    for left, right in zip(one, other, strict=True):
        assert left.keys() == right.keys()
        for key, values in left.items():
            for a, b in zip(values, right[key], strict=True):
                assert a == pytest.approx(b, abs=1e-9) if isinstance(a, float) else a == b, (key, values, right[key])


@given(sheets(), st.randoms(use_true_random=False))
@LAW
def test_the_order_of_samples_and_models_does_not_matter(sheet, random):
    samples, models = list(sheet.marks["A"]), list(sheet.marks)
    random.shuffle(samples)
    random.shuffle(models)

    assert_alike(numbers(changed(sheet, samples=samples, models=models)), numbers(sheet))


@given(sheets())
@LAW
def test_other_ids_do_not_matter(sheet):
    renamed = changed(sheet, name=lambda sample: f"{99 - int(sample[1:])}-x")

    assert_alike(numbers(renamed), numbers(sheet))


@given(sheets())
@LAW
def test_scores_turned_round_with_their_direction_say_the_same(sheet):
    def turned(cell):
        return cell if cell.value is None else Cell(1 - cell.value, passed=cell.passed)

    assert_alike(numbers(changed(sheet, cell=turned, direction="lower"), flipped=True), numbers(sheet))


@given(sheets(models=("A", "B")))
@LAW
def test_a_twin_of_a_model_stands_where_it_stands_and_changes_no_other(sheet):
    twins = Sheet(sheet.metric, {**sheet.marks, "twin": dict(sheet.marks["A"])}, sheet.range)

    before, _ = numbers(sheet)
    means, pairs = numbers(twins)

    assert means["twin"][:5] == means["A"][:5]
    assert {model: means[model][:4] for model in before} == {model: one[:4] for model, one in before.items()}
    difference, low, high, p, *_ = pairs["A", "twin"]
    assert difference == 0
    assert p is None or p == 1
    assert low is None or low <= 0 <= high


@given(sheets(missing=False), st.integers(1, 5))
@LAW
def test_what_is_missing_moves_no_mean_and_is_counted(sheet, added):
    marks = {model: {**row, **{f"gone{at}": GONE for at in range(added)}} for model, row in sheet.marks.items()}

    before = {one.model: one.summary for one in standings(sheet)}
    after = {one.model: one.summary for one in standings(Sheet(sheet.metric, marks, sheet.range))}

    for model, one in before.items():
        other = after[model]
        assert (other.value, other.n, other.interval) == (one.value, one.n, one.interval)
        assert sum(other.n_missing.values()) == sum(one.n_missing.values()) + added
        assert other.n_items == one.n_items + added


def write_table(folder, form, rows):
    path = folder / f"t.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "json":
        path.write_text(json.dumps(rows))
    elif form == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif form == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    return [path]


def write_lm_eval(folder, rows):
    paths = []
    for model in sorted({row["model"] for row in rows}):
        here = folder / model
        here.mkdir()
        samples = [row for row in rows if row["model"] == model]
        (here / "samples_t.jsonl").write_text("".join(
            json.dumps({"doc_id": int(row["item"]), "doc": {"q": row["item"]}, "target": "x", "arguments": [["q", {}]], "resps": [["y"]],
                        "filtered_resps": ["y"], "filter": "none", "metrics": ["score"], "score": row["score"]}) + "\n"
            for row in samples
        ))  # fmt: skip
        results = {
            "results": {"t": {"alias": "t"}},
            "config": {"model_args": model},
            "versions": {},
            "model_name": model,
        }
        (here / "results.json").write_text(json.dumps(results))
        paths.append(here / "results.json")
    return paths


@given(st.lists(st.tuples(SHARES, SHARES), min_size=3, max_size=8))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_scores_in_another_format_are_the_same_comparison(tmp_path, scores):
    rows = [{"item": f"{at}", "model": model, "score": score}
            for at, both in enumerate(scores) for model, score in zip("AB", both, strict=True)]  # fmt: skip
    found = {}
    for form in ("jsonl", "json", "csv", "parquet", "lm-eval", "imported"):
        folder = tmp_path / form
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if form == "lm-eval":
            paths = write_lm_eval(folder, rows)
        elif form == "imported":
            (path,) = write_table(folder, "jsonl", rows)
            assert CliRunner().invoke(cli, ["import", str(path), "-o", str(folder / "run")]).exit_code == 0
            paths = [next((folder / "run").glob("*/run.json")).parent]
        else:
            paths = write_table(folder, form, rows)
        comparison = compare(paths)
        found[form] = (
            [(one.model, one.summary.value, one.summary.n, one.summary.interval) for one in comparison.standings],
            [pair.to_record() for pair in comparison.pairs],
        )

    assert all(each == found["jsonl"] for each in found.values()), found


def run_cli(*args):
    result = CliRunner().invoke(cli, [str(arg) for arg in args])
    assert result.exit_code in (0, 3), (result.output, result.exception)


def published(output, *names):
    (run,) = [path.parent for path in output.glob("*/run.json")]
    return {name: (run / name).read_text() for name in names}


ANSWERS = [{"doc_id": at, "prediction": "xyz"[at % 3]} for at in range(6)]
CODE = [
    {"task_id": f"q{at}", "model": model, "completion": f"def f(): return {(at + shift) % 2}"}
    for at in range(2)
    for shift, model in enumerate("AB")
]
REVIEWS = [{"paper_id": paper, "system": system, "review": f"{system} finds {paper} clear.", "execution_time": 5}
           for paper in ("one", "two", "three") for system in ("mas", "solo")]  # fmt: skip


def mark(kind, folder, rows, workers):
    """Mark rows in a kind of run and return what it publishes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if kind == "run":
        (folder / "d.jsonl").write_text("".join(json.dumps({"q": f"{at}?", "a": "x"}) + "\n" for at in range(6)))
        (folder / "t.yaml").write_text(
            "name: t\ndata: {path: d.jsonl}\nprompt: '{{ q }}'\nreference: '{{ a }}'\nmetrics: [exact_match, edit_distance, rougeL]\n"
        )
        run_cli(
            "run",
            folder / "t.yaml",
            "--predictions",
            folder / "rows.jsonl",
            "--output",
            folder / "out",
            "--workers",
            workers,
        )
        return published(folder / "out", "summary.json")
    if kind == "exam":
        bank = [{"task_id": f"q{at}", "prompt": "p", "entry_point": "f", "canonical_solution": "def f(): return 1", "test": "assert f() == 1"}
                for at in range(2)]  # fmt: skip
        (folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bank))
        run_cli("exam", "--benchmark", folder / "b.jsonl", "--solutions", folder / "rows.jsonl", "--isolation", "weak",
                "--workers", workers, "--output", folder / "out")  # fmt: skip
        names = [
            f"{model}/{name}"
            for model in "AB"
            for name in ("test_results_score.json", "test_results_errors.json", "test_results.jsonl")
        ]
        return published(folder / "out", *names)
    run_cli("review", "--papers", papers(folder), "--reviews", folder / "rows.jsonl", "--judge", "off", "--workers", workers,
            "--output", folder / "out")  # fmt: skip
    return published(folder / "out", "summary.json")


@pytest.mark.parametrize(("kind", "rows"), [("run", ANSWERS), ("exam", CODE), ("review", REVIEWS)])
@given(order=st.randoms(use_true_random=False), workers=st.sampled_from([1, 2]))
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_neither_the_order_of_answers_nor_the_number_of_workers_changes_a_run(tmp_path, kind, rows, order, workers):
    shuffled = list(rows)
    order.shuffle(shuffled)

    assert mark(kind, tmp_path / "b", shuffled, workers) == mark(kind, tmp_path / "a", rows, 1)


@pytest.mark.parametrize("seed", range(8))
def test_the_same_marks_in_another_order_share_a_rank(seed):
    rng = random.Random(seed)
    marks = [(f"s{at}", Cell(rng.random())) for at in range(37)]
    shuffled = rng.sample(marks, len(marks))
    swapped = zip((name for name, _ in marks), (cell for _, cell in shuffled), strict=True)

    order = standings(Sheet("m", {"a": dict(marks), "b": dict(shuffled), "c": dict(swapped), "d": {"s0": Cell(0.0)}}))

    assert [(standing.model, standing.rank) for standing in order] == [("a", 1), ("b", 1), ("c", 1), ("d", 4)]


@st.composite
def named_sheets(draw):
    """Return the sheet of a run of ours with ids or places, or of another tool: its samples by name, content and cluster."""
    kind = draw(st.sampled_from(["ids", "places", "tool", "table"]))
    names = draw(st.lists(st.sampled_from(["0", "1", "2", "t/0", "t/1"]), min_size=1, max_size=4, unique=True))
    texts = draw(st.lists(st.sampled_from(["", "x", "y", "z"]), min_size=len(names), max_size=len(names)))
    maker = "" if kind in ("ids", "places") else f"{kind}:"
    aliases = {
        name: Aliases(f"task {text}", (f"t:{text}", text)) for name, text in zip(names, texts, strict=True) if text
    }
    clusters = draw(st.lists(st.sampled_from(["", "", "", "c", "d"]), min_size=len(names), max_size=len(names)))
    return Sheet(
        "m", {"model": {name: Cell(1.0) for name in names}},
        meta={name: {"cluster": cluster} for name, cluster in zip(names, clusters, strict=True) if cluster},
        digests={name: f"{maker}{text}" if text else "" for name, text in zip(names, texts, strict=True)},
        by_place=kind == "places", loose=bool(maker), aliases=(dict) if maker else (lambda: aliases),
    )  # fmt: skip


def pairing(sheets):
    """Return which samples of which runs are one, and in which cluster; None where they are refused."""
    try:
        merged = merge_sheets([(run, sheet) for run, sheet in sheets])
    except DataError:
        return None
    groups = {}
    for title, (at, _) in merged.origins.items():
        for sample in merged.marks[title]:
            own = sheets[at][0], merged.renamed.get((at, sample), sample)
            groups.setdefault(sample, []).append(own)
    return {frozenset(group): merged.meta.get(sample) for sample, group in groups.items()}, merged.alignment[
        "n_same_id_other_content"
    ]


@settings(max_examples=300, deadline=None)
@given(st.lists(named_sheets(), min_size=2, max_size=4))
def test_samples_are_paired_alike_in_every_order_of_the_runs(sheets):
    runs = [(f"run{at}", sheet) for at, sheet in enumerate(sheets)]

    first, *others = (pairing(order) for order in itertools.permutations(runs))

    assert all(other == first for other in others)
    for group in first[0] if first else ():
        assert len({run for run, _ in group}) == len(group)  # two samples of one run are never one
