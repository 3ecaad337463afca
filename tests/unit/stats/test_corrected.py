"""A judge's mean put right by labels: fixed numbers, the peers', what the labels cannot support, the command."""

import json
import math

import numpy as np
import pytest
from support.made_files import task_row, task_run
from support.review_kit import markbook

from markbook.stats import clustered_standard_error, corrected_mean, labels_needed

rng = np.random.default_rng(7)
SCORES = rng.random(300)
TRUTH = np.clip(SCORES + rng.normal(0, 0.2, 300), 0, 1)
LABELS = [float(value) if place < 60 else None for place, value in enumerate(TRUTH)]


def peer(found):
    """Return value, low and high."""
    return (found.value, found.low, found.high)


def test_by_hand():
    # judge: labelled 0 1 0 1 ..., the other ten half ones. label = judge everywhere but in two of ten.
    scores = [0, 1] * 5 + [0, 1] * 5
    labels = [0, 1, 0, 1, 0, 1, 0, 1, 1, 0] + [None] * 10

    found = corrected_mean(scores, labels, method="ppi++")

    # covariance over n: .4 - .25 = .15; variance over all: .25 x 20/19; weight .15 / (2 x .263158) = .285
    assert found.stats["judge_weight"] == pytest.approx(0.285)
    # .285 x .5 + mean(label - .285 judge) = .1425 + .5 - .1425
    assert found.value == pytest.approx(0.5)
    # var(.285 f) / 10 + var(label - .285 f) / 10 = (.0812 x .25 + .25 - .57 x .15 + .0812 x .25) / 10
    assert found.se == pytest.approx(math.sqrt((0.285**2 * 0.5 + 0.25 - 0.57 * 0.15) / 10))


def test_equal_to_ppi_python_where_it_is_installed():
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed", exc_type=ImportError)
    labelled, rest = SCORES[:60], SCORES[60:]

    low, high = ppi.ppi_mean_ci(TRUTH[:60], labelled, rest, alpha=0.05)
    found = corrected_mean(SCORES, LABELS, method="ppi++")

    value = float(np.ravel(ppi.ppi_mean_pointestimate(TRUTH[:60], labelled, rest))[0])
    assert peer(found) == pytest.approx((value, float(low[0]), float(high[0])), abs=1e-9)


def test_equal_to_ppi_python_with_unequal_probabilities():
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed", exc_type=ImportError)
    chance = np.clip(SCORES, 0.1, 0.9)
    known = np.random.default_rng(1).random(300) < chance
    labels = [float(value) if here else None for value, here in zip(TRUTH, known, strict=True)]

    low, high = ppi.ppi_mean_ci(TRUTH[known], SCORES[known], SCORES, alpha=0.05, w=1 / chance[known])
    found = corrected_mean(SCORES, labels, probabilities=chance, method="ppi++")

    assert peer(found)[1:] == pytest.approx((float(low[0]), float(high[0])), abs=1e-9)


def test_equal_to_truescore_where_it_is_installed():
    correct = pytest.importorskip("truescore.correct", reason="truescore is not installed", exc_type=ImportError)

    theirs = correct.ppi_estimate(SCORES, TRUTH[:60], list(range(60)))
    found = corrected_mean(SCORES, LABELS, method="ppi++")

    # The estimate and its weight; their variances divide by n - 1, those of the paper's package by n.
    assert (found.value, found.stats["judge_weight"]) == pytest.approx((theirs.point, theirs.lambda_), abs=1e-9)


def test_numbers_that_stay():
    plain, published = corrected_mean(SCORES, LABELS), corrected_mean(SCORES, LABELS, method="ppi++")

    assert peer(published) == pytest.approx(PUBLISHED, abs=1e-9)
    assert peer(plain) == pytest.approx(PLAIN, abs=1e-9)
    assert plain.value == published.value
    assert plain.high - plain.low > published.high - published.low


PUBLISHED = (0.5126327834348802, 0.46343810002897134, 0.561827466840789)
PLAIN = (0.5126327834348802, 0.46219672891191466, 0.5630688379578457)


def test_a_judge_that_says_nothing_leaves_the_labels():
    found = corrected_mean([0.5] * 300, LABELS)

    known = TRUTH[:60]
    assert found.value == pytest.approx(known.mean())
    assert found.se == pytest.approx(known.std(ddof=1) / math.sqrt(60))
    assert found.stats["width_of_labels_alone"] == pytest.approx(1.0)


def test_strata_of_one_part_are_the_mean_itself():
    assert peer(corrected_mean(SCORES, LABELS, strata=["a"] * 300)) == pytest.approx(
        peer(corrected_mean(SCORES, LABELS))
    )


def test_equal_probabilities_come_close_to_none():
    plain, weighted = corrected_mean(SCORES, LABELS), corrected_mean(SCORES, LABELS, probabilities=[0.2] * 300)

    assert weighted.value == pytest.approx(plain.value, abs=0.01)
    assert weighted.se == pytest.approx(plain.se, rel=0.1)


def test_copies_of_an_item_are_no_further_items():
    doubled = np.repeat(SCORES, 2)
    labels = [label for label in LABELS for _ in range(2)]

    naive = corrected_mean(doubled, labels)
    clustered = corrected_mean(doubled, labels, clusters=[place // 2 for place in range(600)])

    assert clustered.value == pytest.approx(naive.value)
    assert clustered.se / naive.se == pytest.approx(math.sqrt(2), rel=0.03)
    assert clustered.se == pytest.approx(corrected_mean(SCORES, LABELS).se, rel=0.03)


@pytest.mark.parametrize(
    ("labels", "options", "reason"),
    [
        ([1.0, 0.0] * 4 + [None] * 292, {}, "8 labels are too few"),
        ([1.0] * 50 + [None] * 250, {}, "all 50 labels are 1"),
        (LABELS, {"clusters": [place // 20 for place in range(300)]}, "3 clusters: 8 is the least"),
        (LABELS, {"strata": ["a"] * 57 + ["b"] * 243}, "'b' has 3 labels: 5 is the least"),
    ],
)
def test_labels_that_cannot_support_an_interval_give_none(labels, options, reason):
    found = corrected_mean(SCORES, labels, **options)

    assert (found.value, found.low) == (None, None)
    assert reason in found.note


def test_labels_of_the_best_items_only_are_noticed():
    order = np.argsort(-SCORES)
    known = set(order[:60].tolist())

    found = corrected_mean(SCORES, [float(TRUTH[place]) if place in known else None for place in range(300)])

    assert "were they drawn at random" in found.note


def test_labels_of_whole_clusters_drawn_at_random_bring_no_warning():
    generator = np.random.default_rng(7)
    warned = 0
    for _ in range(60):
        clusters = np.repeat(np.arange(60), 10)
        scores = generator.normal(0, 0.2, 60)[clusters] + generator.normal(0.5, 0.1, 600)
        drawn = set(generator.choice(60, 12, replace=False).tolist())
        labels = [float(score) if place in drawn else None for score, place in zip(scores, clusters, strict=True)]
        warned += "drawn at random" in corrected_mean(scores, labels, clusters=clusters.tolist()).note

    assert warned == 0


def test_the_plan_holds_when_it_is_followed():
    generator = np.random.default_rng(3)
    scores = generator.normal(size=5000)
    truth = 0.8 * scores + 0.6 * generator.normal(size=5000)
    found = corrected_mean(scores, [float(one) if place < 100 else None for place, one in enumerate(truth)])

    needed = int(labels_needed(found, 0.06).value)
    then = corrected_mean(scores, [float(one) if place < needed else None for place, one in enumerate(truth)])

    assert (then.high - then.low) / 2 == pytest.approx(0.06, rel=0.1)
    assert labels_needed(found, 0.001).value is None


def test_the_command(tmp_path):
    judged, labels = tmp_path / "judged.jsonl", tmp_path / "labels.jsonl"
    rows = [
        {"id": str(place), "system": system, "metrics": {"judge": float(score) - shift}, "topic": "ab"[place % 2]}
        for place, score in enumerate(SCORES)
        for system, shift in (("new", 0.0), ("old", 0.2))
    ]
    judged.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = [
        {"id": str(place), "system": system, "label": round(float(TRUTH[place]) - shift, 6), "rater": "me"}
        for place in range(60)
        for system, shift in (("new", 0.0), ("old", 0.1 + 0.02 * (place % 3)))
    ]
    said += [{"id": "70", "system": "new", "label": None}, {"id": "no such", "label": 1}]
    labels.write_text("".join(json.dumps(row) + "\n" for row in said))
    base = ("judge", "correct", "--judged", judged, "--labels", labels, "--score", "judge")

    code, out, err = markbook(*base, "--systems", "new", "old", "--by", "topic", "--json")
    shown = markbook(*base, "--systems", "new", "old", "--target", "0.03")
    in_clusters = markbook(*base, "--cluster", "id")

    report = json.loads(out)
    assert code == 0, err
    assert (report["what"], report["items"], report["labels"], report["cannot_say"]) == ("new - old", 300, 60, 1)
    # the judge says .2 for every item; people say .10, .12, .14 in turn
    assert report["corrected"]["value"] == pytest.approx(0.12)
    assert [group["group"] for group in report["errors_by_group"]] == ["a", "b"]
    assert "1 labels belong to no judged row" in err
    assert shown[0] == 0, shown[2]
    assert "corrected" in shown[1]
    assert "more labels bring the half-width to" in shown[1]
    assert "the labels lie in 60 clusters: how many more are needed is not computed" in in_clusters[1]


@pytest.mark.parametrize("apart", ["index", "system"])
def test_several_rows_of_an_item_are_one_cluster(tmp_path, apart):
    rows = [
        {
            "id": f"i{item}",
            apart: attempt if apart == "index" else f"s{attempt}",
            "score": (item % 10) / 10,
            "item": item,
        }
        for item in range(60)
        for attempt in range(5)
    ]
    judged = written(tmp_path / "j", rows)
    labels = written(tmp_path / "l", [{**row, "label": float(row["item"] % 4 > 0)} for row in rows[:150]])

    by_itself = corrected(tmp_path, "--judged", judged, "--labels", labels)[1]
    by_name = corrected(tmp_path, "--judged", judged, "--labels", labels, "--cluster", "item")[1]

    assert by_itself["problems"] == ["the 300 rows are of 60 items: the rows of an item count as one cluster"]
    assert {**by_itself, "problems": []} == by_name

    # a column that takes the rows of one item apart is no cluster of theirs
    code, _, err = corrected(tmp_path, "--judged", judged, "--labels", labels, "--cluster", apart)
    assert code == 2
    assert "the rows of item 'i0' are in two clusters" in err


def test_too_few_labels_exit_3_with_the_reason(tmp_path):
    (tmp_path / "j.jsonl").write_text("".join(f'{{"id": {n}, "score": {n / 10}}}\n' for n in range(10)))
    (tmp_path / "l.jsonl").write_text('{"id": 1, "label": 1}\n')

    code, out, _ = markbook("judge", "correct", "--judged", tmp_path / "j.jsonl", "--labels", tmp_path / "l.jsonl")

    assert code == 3
    assert "1 labels are too few: 10 is the least" in out


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def corrected(tmp_path, *args):
    code, out, err = markbook("judge", "correct", "--json", *args)
    return code, json.loads(out) if out else None, err


def test_labels_of_two_answers_side_by_side_correct_how_often_one_is_preferred(tmp_path):
    # The judge prefers `new` in 150 of 200, with 10 ties; people in every third of the first sixty that it does not lose.
    scores = [(1, 0)] * 150 + [(0, 0)] * 10 + [(0, 1)] * 40
    order = np.random.default_rng(0).permutation(200).tolist()
    judged = [
        {"id": str(at), "system": system, "score": scores[order[at]][side]}
        for at in range(200)
        for side, system in enumerate(("new", "old"))
    ]
    labels = [
        # The last twenty were seen the other way round.
        {"id": str(at), "system": "new", "against": "old", "rater": "ann", "label": at % 2 / 2 + 0.5}
        if at < 40
        else {"id": str(at), "system": "old", "against": "new", "rater": "ann", "label": 0.5 - at % 2 / 2}
        for at in range(60)
    ]
    base = ("--judged", written(tmp_path / "j", judged), "--labels", written(tmp_path / "l", labels))

    code, report, err = corrected(tmp_path, *base, "--systems", "new", "old")
    alone = markbook("judge", "correct", *base)

    assert code == 0, err
    assert report["what"] == "new preferred to old"
    assert report["stats"]["judge_mean"] == pytest.approx((150 + 5) / 200)
    assert report["stats"]["labels_mean"] == pytest.approx(0.75)
    assert alone[0] == 2
    assert "no label belongs to a judged row" in alone[2]


def test_files_of_two_raters_merge_and_a_later_word_replaces_an_earlier_one(tmp_path):
    judged = written(tmp_path / "j", [{"id": at, "score": at % 3 / 2} for at in range(60)])
    folder = tmp_path / "labels"
    folder.mkdir()
    written(folder / "a.jsonl", [{"id": at, "rater": "a", "label": 0} for at in range(20)]
            + [{"id": at, "rater": "a", "label": at % 2} for at in range(20)])  # fmt: skip
    written(folder / "b.jsonl", [{"id": at, "rater": "b", "label": 1} for at in range(20)])

    folded = corrected(tmp_path, "--judged", judged, "--labels", folder)[1]
    named = corrected(tmp_path, "--judged", judged, "--labels", folder / "a.jsonl", "--labels", folder / "b.jsonl")[1]

    assert folded["stats"]["labels_mean"] == pytest.approx((0.5 + 1) / 2)
    assert folded == named
    assert folded["problems"] == ["10 labels are replaced by a later line of the same rater"]

    # between files there is no order that says which word is the last
    # also where one agrees with the other before it says something else
    written(folder / "c.jsonl", [{"id": 3, "rater": "a", "label": label} for label in (1, 0)])
    files = [folder / "c.jsonl", folder / "a.jsonl"]
    for first, second, line in ((*files, "a.jsonl:24"), (*files[::-1], "c.jsonl:2")):
        code, _, err = corrected(tmp_path, "--judged", judged, "--labels", first, "--labels", second)

        assert code == 2
        assert f"{folder}/{line}: the rater 'a' says something else of item '3' at {folder}/" in err


JUDGED = [{"id": f"i{at}", "system": "new", "score": at % 10 / 10} for at in range(100)]


def said(count, **more):
    return [{"id": f"i{at}", "label": (at * 7) % 10 / 10, **more} for at in range(count)]


@pytest.mark.parametrize(("of_row", "of_label"), [({"system": "new"}, {}), ({}, {"system": "new"}), ({}, {})])
def test_only_one_side_need_name_the_only_system(tmp_path, of_row, of_label):
    rows = [{"id": row["id"], "score": row["score"], **of_row} for row in JUDGED]

    judged, people = written(tmp_path / "j.jsonl", rows), written(tmp_path / "l.jsonl", said(40, **of_label))
    _, report, _ = corrected(tmp_path, "--judged", judged, "--labels", people)

    assert (report["items"], report["labels"], report["problems"]) == (100, 40, [])


@pytest.mark.parametrize(("rows", "labels", "message"), [
    ([*JUDGED, {"id": "i1", "system": "old", "score": 1}], said(40), 'with "system" where there are several'),
    (JUDGED, [{"id": "i1", "label": None}] * 3, "3 say that nobody can say (null)"),
    (JUDGED, [*said(40), {"id": "i50", "label": "0.5"}], "l.jsonl:41: a label is '0.5': it must be a number"),
    (JUDGED, [{"id": "i1", "label": 1, "probability": "0.5"}], "l.jsonl:1: a probability is '0.5'"),
    (
        [{"id": row["id"], "score": row["score"]} for row in JUDGED],
        [*said(40, system="A"), {"id": "i50", "system": "B", "label": 0.0}],
        "l.jsonl:41: labels of 'A' and of 'B', and the judged rows do not say whose they are",
    ),
    (
        [{"id": row["id"], "score": row["score"]} for row in JUDGED],
        [*said(40, model="A", system=None), {"id": "i50", "model": "B", "system": None, "label": 0.0}],
        "l.jsonl:41: labels of 'A' and of 'B', and the judged rows do not say whose they are",
    ),
    (JUDGED, [{"id": "i1", "score": 1}], "l.jsonl:1: no key 'label': row skipped"),
])  # fmt: skip
def test_labels_that_are_none_are_told_apart(tmp_path, rows, labels, message):
    judged, people = written(tmp_path / "j.jsonl", rows), written(tmp_path / "l.jsonl", labels)

    code, out, err = markbook("judge", "correct", "--judged", judged, "--labels", people)

    assert (code, out) == (2, "")
    assert message in err


def test_what_is_left_out_is_said_in_the_terminal_too(tmp_path):
    judged = written(
        tmp_path / "j.jsonl", [*JUDGED[:97], *({"id": f"x{at}", "system": "new", "score": None} for at in range(3))]
    )
    people = written(tmp_path / "l.jsonl", [*said(40), {"id": "i50", "label": None}])

    code, out, _ = markbook("judge", "correct", "--judged", judged, "--labels", people)

    assert code == 0
    assert (
        "97 items, 40 labels\n  3 judged rows have no score and are left out\n  1 labels say that nobody can say" in out
    )


def test_labels_of_two_draws_are_refused_and_equal_probabilities_are_none(tmp_path):
    judged = written(tmp_path / "j", [{"id": at, "score": at % 3 / 2} for at in range(60)])
    rows = [{"id": at, "label": at % 2, "probability": 0.25, "draw": "one"} for at in range(20)]
    alike = corrected(tmp_path, "--judged", judged, "--labels", written(tmp_path / "l", rows))[1]
    plain = corrected(tmp_path, "--judged", judged, "--labels", written(tmp_path / "p", [
        {name: row[name] for name in ("id", "label")} for row in rows]))[1]  # fmt: skip
    rows[3] |= {"probability": 0.5, "draw": "two"}

    code, _, err = corrected(tmp_path, "--judged", judged, "--labels", written(tmp_path / "m", rows))

    assert alike == plain
    assert code == 2
    assert "2 draws" in err


def test_the_plan_names_the_items_to_label_next(tmp_path):
    judged = written(tmp_path / "j", [{"id": at, "score": at % 3 / 2} for at in range(300)])
    labels = written(tmp_path / "l", [{"id": at, "label": at % 2} for at in range(30)])

    plan = corrected(tmp_path, "--judged", judged, "--labels", labels, "--target", "0.1")[1]["plan"]

    named = [int(one["id"]) for one in plan["next"]]
    assert len(named) == len(set(named)) == plan["more"] > 10
    assert min(named) >= 30


def test_a_run_is_judged_by_its_folder_with_several_tasks(tmp_path):
    from support.made_files import task_row, task_run

    run = task_run(tmp_path, [task_row(at, at % 5 / 4) for at in range(40)]).folder
    labels = written(tmp_path / "l", [{"id": str(at), "system": "m", "label": at % 2} for at in range(20)])

    by_folder = corrected(tmp_path, "--judged", run, "--labels", labels)[1]
    by_file = corrected(tmp_path, "--judged", run / "results.jsonl", "--score", "bleu", "--labels", labels)[1]

    assert by_folder["corrected"] == by_file["corrected"]
    assert by_folder["labels"] == 20


def test_a_hundred_human_scored_reviews_correct_a_judge_of_all(shared_data, tmp_path):
    from bench.judged_reviews import items, word_counter

    found = items(shared_data / "peerread-format")
    scores = word_counter(found)  # a judge that counts words of praise and blame
    labels = np.array([label for _, _, label in found])
    judged = written(tmp_path / "j", [{"id": at, "score": score} for at, score in enumerate(scores)])
    drawn = np.random.default_rng(0).choice(len(found), 100, replace=False).tolist()
    report = corrected(tmp_path, "--judged", judged, "--labels", written(tmp_path / "l", [
        {"id": at, "label": labels[at]} for at in drawn]))[1]  # fmt: skip
    held = 0
    for seed in range(60):
        known = set(np.random.default_rng(seed).choice(len(found), 100, replace=False).tolist())
        one = corrected_mean(scores, [float(label) if at in known else None for at, label in enumerate(labels)])
        held += one.low <= labels.mean() <= one.high

    assert len(found) == 195
    assert report["labels"] == 100
    assert report["corrected"]["interval"]["low"] < labels.mean() < report["corrected"]["interval"]["high"]
    # The judge alone is far off; of 60 intervals at 95 %, 52 hold with a probability of 99.5 %.
    assert abs(scores.mean() - labels.mean()) > 0.08
    assert held >= 52


def clustered(tmp_path, labels_of_each, *more):
    """Twelve documents of fifty items; people say 1 of every item of four of them, the judge .4 to .6 of anything."""
    chance = np.random.default_rng(3)
    items = [(doc, at) for doc in range(12) for at in range(50)]
    judged = [{"id": f"{doc}-{at}", "score": 0.4 + 0.2 * chance.random(), "doc": f"d{doc}"} for doc, at in items]
    labels = [{"id": f"{doc}-{at}", "label": float(doc % 3 == 0)} for doc, at in items if at < labels_of_each]
    return markbook("judge", "correct", "--judged", written(tmp_path / "j", judged), "--labels",
                    written(tmp_path / "l", labels), "--cluster", "doc", *more)  # fmt: skip


SIZES = [40, 25, 12, 9, 9, 6, 5, 4, 3, 3, 2, 2, 1, 1]


def test_labels_beside_a_judge_that_says_nothing_have_the_interval_that_their_mean_has_elsewhere(tmp_path):
    chance = np.random.default_rng(5)
    docs = np.repeat(np.arange(len(SIZES)), SIZES)
    labels = np.round(chance.normal(0, 1, len(SIZES))[docs] + chance.normal(0, 1, docs.size), 3).tolist()
    judged = [{"id": str(at), "score": 0.5, "doc": f"d{doc}"} for at, doc in enumerate(docs)]
    marked = [{"id": str(at), "label": label} for at, label in enumerate(labels)]
    by_rule = clustered_standard_error(labels, docs.tolist(), correction="CR2")
    paths = written(tmp_path / "j", judged), written(tmp_path / "l", marked)

    found = corrected(tmp_path, "--judged", paths[0], "--labels", paths[1], "--cluster", "doc")[1]["corrected"]

    assert by_rule.stats["degrees"] == pytest.approx(2.275, abs=0.001)
    assert [found["value"], found["interval"]["low"], found["interval"]["high"]] == pytest.approx(peer(by_rule))


def test_clusters_of_very_unequal_size_are_covered_as_often_as_is_said():
    covered = 0
    for seed in range(200):
        chance = np.random.default_rng(seed)
        docs = np.repeat(np.arange(40), np.ceil(np.exp(chance.normal(1.8, 1.5, 40))).astype(int))
        truth = chance.normal(0, 0.55, 40)[docs] + chance.normal(0, 0.84, docs.size)
        scores = 0.7 * truth + chance.normal(0, 0.4, 40)[docs] + chance.normal(0, 0.6, docs.size)
        is_labelled = (chance.random(40) < 0.5)[docs]
        labels = [float(value) if here else None for value, here in zip(truth, is_labelled, strict=True)]
        estimate = corrected_mean(scores, labels, clusters=docs.tolist())
        covered += estimate.low <= 0 <= estimate.high

    assert covered == 189  # of 200: 168 with the error of clusters of equal size


@pytest.mark.parametrize("labels_of_each", [4, 49])
def test_labels_of_clusters_alone_have_the_interval_of_clusters_and_no_plan(tmp_path, labels_of_each):
    shown = clustered(tmp_path, labels_of_each)[1]
    report = json.loads(clustered(tmp_path, labels_of_each, "--json", "--target", "0.1")[1])

    # Twelve means, four of them 1: 1/3 +- t(11) sqrt((4 x 4/9 + 8 x 1/9) / 11 / 12) = 2.20099 x .142134
    assert report["stats"]["labels_low"] == pytest.approx(1 / 3 - 0.312834, abs=1e-5)
    assert report["stats"]["labels_high"] == pytest.approx(1 / 3 + 0.312834, abs=1e-5)
    assert report["stats"]["width_of_labels_alone"] == pytest.approx(1.0, abs=0.05)
    assert (report["plan"]["labels"], report["plan"]["more"], report["plan"]["next"]) == (None, None, [])
    assert "labels lie in 12 clusters: how many more are needed is not computed" in report["plan"]["note"]
    assert report["plan"]["note"] in shown
    assert "bring the half-width" not in shown


def test_the_judge_alone_has_the_interval_of_clusters(tmp_path):
    # Ten documents of six items with one score each: 0, .1, .., .9
    judged = [{"id": f"{doc}-{at}", "score": doc / 10, "doc": doc} for doc in range(10) for at in range(6)]
    labels = [{"id": f"{doc}-{at}", "label": (doc + at) % 3 / 2} for doc in range(10) for at in range(2)]

    _, report, _ = corrected(tmp_path, "--judged", written(tmp_path / "j", judged), "--labels",
                             written(tmp_path / "l", labels), "--cluster", "doc")  # fmt: skip

    # t(9) sqrt(.825 / 9 / 10) = 2.26216 x .0957427
    assert report["stats"]["judge_high"] - 0.45 == pytest.approx(0.216585, abs=1e-5)


def test_the_labels_of_strata_alone_are_weighed_by_the_size_of_the_strata(tmp_path):
    # People say 1/4 of the 900 items of one part on average, 3/4 of the 100 items of the other; 12 labels in each.
    judged = [{"id": at, "score": 0.4 + at % 7 / 50, "part": "large" if at < 900 else "small"} for at in range(1000)]
    labels = [{"id": at, "label": float(at % 4 == 0)} for at in range(12)]
    labels += [{"id": at, "label": float(at % 4 != 0)} for at in range(900, 912)]

    _, report, _ = corrected(tmp_path, "--judged", written(tmp_path / "j", judged), "--labels",
                             written(tmp_path / "l", labels), "--stratum", "part")  # fmt: skip

    assert report["stats"]["labels_mean"] == pytest.approx(0.9 * 0.25 + 0.1 * 0.75)


def test_a_plan_starts_at_the_present_half_width(tmp_path):
    # 6 labels in a part of 9 in 10 of the items, 200 in the small part: 206 labels, and a wide interval.
    judged = [{"id": at, "score": 0.5, "part": "large" if at < 9000 else "small"} for at in range(10000)]
    labels = [{"id": at, "label": float(at % 2)} for at in [*range(6), *range(9000, 9200)]]

    _, report, _ = corrected(tmp_path, "--judged", written(tmp_path / "j", judged), "--labels",
                             written(tmp_path / "l", labels), "--stratum", "part")  # fmt: skip

    assert report["plan"]["half_width"] == pytest.approx(report["stats"]["half_width"] / 2)
    assert report["plan"]["more"] == pytest.approx(3 * 206, rel=0.05)


def test_a_plan_counts_only_items_that_can_be_labelled(tmp_path):
    # 40 of 100 answers are empty; of the 60 others 30 have a label.
    rows = [task_row(at, 0.0 if at < 40 else at % 5 / 4, text="" if at < 40 else "words") for at in range(100)]
    labels = [{"id": f"{at}", "label": float(at % 2)} for at in range(40, 70)]
    _, report, _ = corrected(tmp_path, "--judged", task_run(tmp_path / "run", rows).folder, "--labels",
                             written(tmp_path / "l", labels))  # fmt: skip

    assert report["plan"]["more"] is None
    assert report["plan"]["note"].startswith("a label of each of the 60 items gives ")
