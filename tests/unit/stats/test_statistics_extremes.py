"""Judges, labels and models at the ends: drawn labels, perfect marks, models that always win, thousands of models."""

import json
import math
import warnings

import numpy as np
import pytest
from support.made_files import task_row, task_run
from support.review_kit import markbook

from markbook import measure, summarise
from markbook.files.jsonl import Line
from markbook.judge.client import weigh
from markbook.judge.correction import CorrectionRequest, correct
from markbook.judge.labels import LabelItem, draw
from markbook.judge.rubrics import Criterion, Rubric
from markbook.results.comparison import compare_sheet
from markbook.results.leaderboard import leaderboard, standings
from markbook.results.sheet import Cell, Sheet
from markbook.results.stopping import Stopping, parse_rule
from markbook.stats import bradley_terry, corrected_mean, items_needed, mean_interval
from markbook.stats.sequential import SequentialSigns, sequential_sign_test


def sheet_of(models):
    cells = {name: {f"s{at}": Cell(float(v)) for at, v in enumerate(values)} for name, values in models.items()}
    return Sheet("m", cells)


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def simulate(chance_of, judge, *, size, trials):
    """Return the share of intervals that hold 0, the spread of the values and the mean standard error."""
    rng = np.random.default_rng(0)
    results = []
    for _ in range(trials):
        scores, truth = judge(rng, size)
        chance = chance_of(rng, scores)
        drawn = rng.random(size) < chance
        labels = [float(y) if known else None for y, known in zip(truth, drawn, strict=True)]
        results.append(corrected_mean(list(scores), labels, probabilities=list(chance)))
    values = [result.value for result in results]
    covered = sum(result.low <= 0 <= result.high for result in results) / trials
    return covered, float(np.std(values)), float(np.mean([result.se for result in results]))


def good_judge(rng, size):
    scores = rng.standard_normal(size)
    return scores, 0.9 * scores + math.sqrt(0.19) * rng.standard_normal(size)


def test_interval_of_drawn_labels_covers_where_most_items_are_labelled():
    # was .876, with a mean standard error of .0586 beside a spread of .0747
    covered, spread, error = simulate(
        lambda rng, scores: np.where(rng.random(scores.size) < 0.5, 0.77, 0.83), good_judge, size=200, trials=300
    )

    assert covered > 0.91
    assert error == pytest.approx(spread, rel=0.1)


def test_a_judge_that_is_off_by_the_same_everywhere_is_heeded_all_the_same():
    rng = np.random.default_rng(3)
    weights, errors = [], []
    for _ in range(40):
        scores = rng.random(2000)
        truth = scores - 0.15 + rng.normal(0, 0.1, 2000)
        chance = np.clip(100 * scores**4 / (scores**4).sum(), 1e-4, 1)
        labels = [float(y) if rng.random() < p else None for y, p in zip(truth, chance, strict=True)]
        corrected = corrected_mean(list(scores), labels, probabilities=list(chance))
        if corrected.value is not None:
            weights.append(corrected.stats["judge_weight"])
            errors.append(corrected.value - float(truth.mean()))

    # one centre for both sides gave .29 on average, and a mean that was .12 too high
    assert np.mean(weights) > 0.85
    assert abs(np.mean(errors)) < 0.03


def test_few_effective_labels_are_refused_and_rather_few_are_warned_of():
    scores = np.linspace(0, 1, 100)
    labels = [float(s) if at < 40 else None for at, s in enumerate(scores)]
    one_rare = [0.001 if at == 0 else 0.9 for at in range(100)]
    some_rare = [0.05 if at < 12 else 0.9 for at in range(100)]

    refused = corrected_mean(list(scores), labels, probabilities=one_rare)
    warned = corrected_mean(list(scores), labels, probabilities=some_rare)

    # (1000 + 39 / .9)^2 / (1000^2 + 39 / .81) = 1.09
    assert (refused.value, refused.low) == (None, None)
    assert "the 40 labels count as 1.1: 10 is the least" in refused.note
    # (240 + 28 / .9)^2 / (12 x 400 + 28 / .81) = 15.2
    assert warned.value is not None
    assert "the 40 labels count as 15" in warned.note


def test_labels_alone_are_weighed_as_they_were_drawn():
    labels = [1.0] * 10 + [0.0] * 20 + [None] * 70
    chance = [0.5] * 10 + [0.25] * 20 + [0.3] * 70

    corrected = corrected_mean([0.5] * 50 + [0.6] * 50, labels, probabilities=chance)

    # 10 / .5 of (10 / .5 + 20 / .25)
    assert corrected.stats["labels_mean"] == pytest.approx(0.2)
    assert corrected.stats["labels_low"] < 0.2 < corrected.stats["labels_high"]
    assert corrected.stats["label_sd"] == pytest.approx(math.sqrt(0.16 * 30 / 29))


def test_a_stratum_whose_labels_lie_in_one_cluster_is_refused(tmp_path):
    rows = [{"id": str(at), "score": at % 7 / 7, "c": f"c{at % 10}" if at < 60 else "lone", "s": "ab"[at >= 60]}
            for at in range(80)]  # fmt: skip
    judged = written(tmp_path / "j", rows)
    labels = written(tmp_path / "l", [{"id": str(at), "label": at % 3 / 2} for at in [*range(30), *range(60, 68)]])

    code, out, err = markbook("judge", "correct", "--judged", judged, "--labels", labels, "--cluster", "c",
                              "--stratum", "s", "--json")  # fmt: skip

    assert code == 3, err
    assert "Traceback" not in err
    assert "the labels of the stratum 'b' lie in 1 clusters: 4 is the least" in out + err


def test_a_pair_counts_with_the_product_of_its_sides_probabilities(tmp_path):
    rows, truth = [], {}
    for at in range(400):
        score = 0.5 if at % 2 else 0.97
        for system in "AB":
            judge = score + (0.01 if system == "A" else 0)
            rows.append({"id": f"q{at}", "system": system, "score": judge})
            truth[f"q{at}", system] = min(1, judge + 0.45) if at % 2 and system == "A" else judge
    actual = sum(truth[f"q{at}", "A"] - truth[f"q{at}", "B"] for at in range(400)) / 400
    judged = [Line(row, f"j:{at}") for at, row in enumerate(rows)]
    rng = np.random.default_rng(0)

    values, covered = [], 0
    for seed in range(30):
        drawn = draw([LabelItem(row["id"], row["system"], score=row["score"]) for row in rows], 400, seed=seed)
        labels = written(
            tmp_path / "l",
            [
                {"id": line.item.id, "system": line.item.system, "probability": line.probability, "draw": "d",
                 "label": truth[line.item.id, line.item.system] + rng.normal(0, 0.01), "rater": "ann"}
                for line in drawn
            ],
        )  # fmt: skip
        corrected = correct(CorrectionRequest(judged=judged, labels=[labels], systems=("A", "B")))["corrected"]
        values.append(corrected["value"])
        covered += corrected["interval"]["low"] <= actual <= corrected["interval"]["high"]

    # the larger of the two probabilities gave .296 on average, and 15 of 60 intervals held .235
    assert actual == pytest.approx(0.235)
    assert np.mean(values) == pytest.approx(actual, abs=0.012)
    assert covered >= 26


@pytest.mark.parametrize("n", [2000, 2001])
def test_a_model_that_is_always_right_is_better_than_one_always_wrong(n):
    comparison = compare_sheet(sheet_of({"perfect": [1] * n, "nothing": [0] * n}))

    pair = comparison.pairs[0]
    assert pair.p is not None
    assert 0 < pair.p <= 1e-5
    assert pair.better == "perfect"
    assert len({standing.group for standing in comparison.standings}) == 2


def test_equal_differences_are_told_apart_among_many_models_too():
    models = {"perfect": [1] * 200, "nothing": [0] * 200}
    models |= {f"m{model}": [(at + model) % 2 for at in range(200)] for model in range(19)}

    groups = {standing.model: standing.group for standing in leaderboard(sheet_of(models)).standings}

    assert not set(groups["perfect"]) & set(groups["nothing"])


@pytest.mark.parametrize("n", [45, 65, 164, 300])
def test_strengths_of_a_model_that_always_wins_have_the_error_of_their_odds(n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranking = bradley_terry([[0, n], [0, 0]], prior=0.5)

    # half the difference of the two log strengths: sqrt(1 / (n + .5) + 1 / .5) / 2
    assert ranking.se == pytest.approx([math.sqrt(1 / (n + 0.5) + 2) / 2] * 2)
    assert ranking.value == pytest.approx([math.log((n + 0.5) / 0.5) / 2, -math.log((n + 0.5) / 0.5) / 2])


def test_strengths_of_lopsided_tables_are_numbers():
    rng = np.random.default_rng(5)
    for size in (2, 3, 4, 6):
        for _ in range(20):
            wins = rng.integers(0, 300, (size, size)) * (rng.random((size, size)) < 0.5)
            np.fill_diagonal(wins, 0)
            ranking = bradley_terry(wins.tolist(), prior=0.5, draws=10)
            assert all(
                math.isfinite(value) and 0 < error < 3 for value, error in zip(ranking.value, ranking.se, strict=True)
            )


@pytest.mark.parametrize("weights", [(0.3, 0.3, 0.3), (0.1, 0.1, 0.7), (0.1, 0.3, 0.7)])
@pytest.mark.parametrize("mark", [1, 5])
def test_the_best_and_the_worst_marks_stay_within_the_scale(weights, mark):
    criteria = tuple(Criterion(f"c{at}", "Is it good?", weight) for at, weight in enumerate(weights))
    rubric = Rubric("r", "Mark it.", criteria, ("candidate",), judged="candidate")

    overall = rubric.overall({criterion.name: float(mark) for criterion in criteria})

    assert 0 <= overall <= 1
    assert overall == pytest.approx((mark - 1) / 4)


def test_a_digit_weighed_by_its_probability_stays_within_the_scale():
    payload = '{"good": 5}'
    tokens = [{"token": '{"good": ', "digits": {}}, {"token": "5", "digits": {}}, {"token": "}", "digits": {}}]
    rng = np.random.default_rng(0)
    for probability in rng.random(300):
        tokens[1]["digits"] = {"5": math.log(probability)}
        assert weigh(payload, tokens, "good", (1, 5))[0] == 5.0


def test_empty_answers_that_are_marked_0_count_for_the_corrected_mean(tmp_path):
    rows = [task_row(at, 0.0 if at % 3 == 0 else at % 5 / 4, text="" if at % 3 == 0 else "words") for at in range(60)]
    run = task_run(tmp_path, rows).folder
    labels = written(tmp_path / "l", [{"id": str(at), "system": "m", "label": at % 2} for at in range(30)])

    code, out, err = markbook("judge", "correct", "--judged", run, "--labels", labels, "--json")

    report = json.loads(out)
    assert code == 0, err
    assert (report["items"], report["labels"]) == (60, 30)


@pytest.mark.parametrize(("policy", "items", "mean"), [("exclude", 40, 0.75), ("worst", 60, 0.5)])
def test_a_run_is_corrected_under_its_own_policy_of_missing_values(tmp_path, policy, items, mean):
    rows = [task_row(at, None if at % 3 == 0 else 0.5 + at % 2 / 2) for at in range(60)]
    manifest = task_run(tmp_path, rows).folder / "run.json"
    record = json.loads(manifest.read_text())
    record["config"]["missing"] = policy
    del record["identity"]  # which would say that it was changed
    manifest.write_text(json.dumps(record))
    labels = written(tmp_path / "l", [{"id": str(at), "system": "m", "label": at % 2} for at in range(30)])

    code, out, err = markbook("judge", "correct", "--judged", manifest.parent, "--labels", labels, "--json")

    report = json.loads(out)
    assert code == 0, err
    assert (report["items"], report["stats"]["judge_mean"]) == (items, pytest.approx(mean))
    assert ("20 missing values count as 0, the worst" in err) == (policy == "worst")


def test_thousands_of_models_have_rank_ranges_in_little_memory():
    import tracemalloc

    rng = np.random.default_rng(0)
    models = {f"m{at}": marks for at, marks in enumerate(rng.integers(0, 2, (400, 3)))}
    tracemalloc.start()

    ranked = standings(sheet_of(models))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all(1 <= standing.rank_low <= standing.rank_high <= 400 for standing in ranked)
    # of resamples x models x models it was 2,000 x 400 x 400 bytes
    assert peak < 100_000_000


def test_a_very_sure_interval_in_an_open_range_is_the_range_of_resamples(tmp_path):
    scores = [1, 2, 3, 4, 100.0, 7, 9]
    for model, step in (("a", 0), ("b", 1)):
        written(tmp_path / f"{model}.jsonl", [{"item": str(at), "model": model, "score": score + step * at} for at, score in
                                   enumerate(scores)])  # fmt: skip

    code, out, err = markbook("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--map", "item=item,model=model,score=score",
                              "--alpha", "0.0001", "--json")  # fmt: skip
    interval = mean_interval([1, 2, 3, 4, 5, 100.0], limits=(0, math.inf), confidence=0.999)

    assert code == 0, err
    assert json.loads(out)["ranking"][0]["summary"]["interval"]["high"] <= 106
    assert 1 <= interval.low < 1.2 < interval.high == 100


def test_resamples_of_many_rows_are_not_drawn_at_once():
    import tracemalloc

    rows = measure("corpus_bleu", candidates=["a b c d e"] * 20_000, references=[["a b c d f"]] * 20_000)
    tracemalloc.start()

    found = summarise("corpus_bleu", rows)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.value is not None
    # 1,000 x 20,000 x 8 bytes were 160 MB
    assert peak < 30_000_000


@pytest.mark.parametrize(
    ("effect", "sd", "options"),
    [(0.1, math.inf, {}), (0.1, 0.3, {"power": 1}), (0.1, 0.3, {"power": 0.001}), (0.1, -0.3, {}), (0, 1, {}),
     (math.inf, 1, {}), (0.1, 0.3, {"alpha": 0})],
)  # fmt: skip
def test_what_no_number_of_items_can_show_is_refused(effect, sd, options):
    with pytest.raises(ValueError, match="need"):
        items_needed(effect, sd, **options)


def test_more_differences_than_planned_are_refused_though_decided_before():
    with pytest.raises(ValueError, match="20 samples were planned and 30 have come"):
        sequential_sign_test([1.0] * 30, 20)


def test_each_sample_is_walked_through_once_however_often_it_is_looked(monkeypatch):
    walked = []
    add = SequentialSigns.add
    monkeypatch.setattr(SequentialSigns, "add", lambda self, gap: walked.append(gap) or add(self, gap))
    rng = np.random.default_rng(0)
    marks = {f"s{at}": Cell(float(value)) for at, value in enumerate(rng.random(800))}
    base = sheet_of({"old": rng.random(800)})
    stopping = Stopping(parse_rule("decided"), Sheet("m", {"new": marks}), base)

    looks = [stopping.is_enough(done, {"new": marks}) for done in range(16, 801, 16)]
    stand = stopping.stands(800, {"new": marks})[0]

    assert not any(looks)
    assert (stand["n"], stand["decided_at"], len(walked)) == (800, None, 800)
