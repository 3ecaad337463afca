"""Every number that is shown to people has its interval, also where it is one of many in a small table."""

import json
import math
import re

import pytest
import scipy  # its parts are loaded by the test that asks for them
from support.exam_kit import answer, hold, problem, rows, scores, write_rows
from support.review_kit import markbook

from markbook.results.comparison import compare_sheet
from markbook.results.sheet import Cell, Sheet
from markbook.results.summary import summarise_values
from markbook.stats import mean_interval, wilson_interval
from markbook.stats.noise import estimate_noise

RIGHT, WRONG = "def f(x):\n    return x\n", "def f(x):\n    return 5\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return an exam of four problems of two topics by two models, one of which tries each problem three times."""
    problems = [problem(f"p{at}", topic="lists" if at < 3 else "text") for at in range(4)]
    good = [answer(f"p{at}", RIGHT if at != 2 else WRONG, "good") for at in range(4)]
    tried = [answer(f"p{at}", RIGHT if one < at else WRONG, "tried", sample=one) for at in range(4) for one in range(5)]
    return hold(tmp_path_factory.mktemp("exam"), problems, [*good, *tried], adaptive=False)


def test_scores_by_topic_stand_beside_their_intervals(run, tmp_path):
    share = wilson_interval(2, 3)
    between = f"[{100 * share.low:.2f}, {100 * share.high:.2f}] (wilson)"

    summary = run.read("good/evaluation_summary.md")
    comparison = run.read("model_comparison_summary.md")
    code, _, _ = markbook("report", run.folder, "--format", "md", "--output", tmp_path)
    page = (tmp_path / "report.md").read_text()

    assert f"| lists | 66.67 % | {between} | 66.67 % | 3 | 0 |" in summary.replace("\\", "")
    assert f"| lists | 66.67 % [{100 * share.low:.2f}, {100 * share.high:.2f}] |" in comparison.replace("\\", "")
    assert code == 0
    assert f"66.7 [{100 * share.low:.1f}, {100 * share.high:.1f}]" in page.replace("\\", "")


def test_strengths_are_paired_differences_with_their_intervals(run):
    # Problem by problem on `lists`: good - tried is 1 - 0, 1 - 1/5, 0 - 2/5.
    gap = summarise_values([1.0, 0.8, -0.4], range=(-1.0, 1.0))

    comparison = run.read("model_comparison_summary.md").replace("\\", "")

    words = f"lists (+46.7 [{100 * gap.interval.low:+.1f}, {100 * gap.interval.high:+.1f}])"
    assert words in comparison
    assert gap.interval.low < 0 < gap.interval.high


def test_pass_at_k_in_the_terminal_has_the_intervals_of_the_score_file(run, tmp_path):
    folder = run.folder.parents[1] / "in"
    _, shown, err = markbook(
        "exam", "--benchmark", folder / "benchmark.jsonl", "--solutions", folder / "answers.jsonl", "--output", tmp_path,
        "--isolation", "weak", "--workers", 1,
    )  # fmt: skip
    record = scores(run, "tried")

    line = next(line for line in shown.partition("pass@k")[2].splitlines() if line.strip().startswith("tried"))
    for k in (1, 5):
        found = record["pass_at_k"][f"pass@{k}"]
        assert f"{record[f'pass@{k}']:.1f} [{found['low']:.1f}, {found['high']:.1f}]" in line, err


def test_comparisons_by_topic_have_the_intervals_of_the_reports():
    values = [at % 7 / 7 for at in range(40)]  # so few of partial credit are resampled: by the seed, as often
    cells = {str(at): Cell(value) for at, value in enumerate(values)}
    meta = {str(at): {"topic": "all"} for at in range(40)}
    found = compare_sheet(Sheet("exam_score", {"a": cells, "b": cells}, meta=meta), seed=3)

    wanted = summarise_values(values, seed=3).interval
    assert found.by_topic["all"]["a"].interval == wanted
    assert found.standings[0].summary.interval == wanted


def test_topics_of_related_samples_have_the_wider_interval():
    values = [float(at % 10 < 5) for at in range(40)]
    cells = {str(at): Cell(value) for at, value in enumerate(values)}
    meta = {str(at): {"topic": "all", "cluster": str(at // 5)} for at in range(40)}
    found = compare_sheet(Sheet("exam_score", {"a": cells, "b": cells}, meta=meta))

    topic = found.by_topic["all"]["a"]
    assert topic.method == "cluster-wilson-t"
    assert topic.interval == found.standings[0].summary.interval
    assert topic.high - topic.low > 2 * (wilson_interval(20, 40).high - 0.5)


def test_a_run_in_python_has_the_intervals_of_its_files(tmp_path):
    tests = [{"assertion": f"func({one}) == {one}"} for one in range(7)]
    problems = [problem(f"p{at}", tests=tests) for at in range(32)]
    part = "def f(x):\n    return x if x < {} else -1\n"
    run = hold(tmp_path, problems, [answer(f"p{at}", part.format(at % 8)) for at in range(32)], seed=5)

    kept = scores(run)["statistics"]["total"]["interval"]
    found = run.score("gpt").interval
    assert kept["method"] == "wilson-t"
    assert (round(100 * found.low, 2), round(100 * found.high, 2)) == (kept["low"], kept["high"])
    assert len(rows(run)) == 32


def test_noise_has_intervals_over_the_items():
    items = [[0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]]
    found = estimate_noise(items)
    mixed, flip = wilson_interval(3, 5), mean_interval([3 / 6, 0, 4 / 6, 0, 3 / 6])

    assert (found.mixed, found.intervals["mixed"]) == (mixed.value, mixed.interval)
    assert found.flip == pytest.approx(flip.value)
    assert (found.intervals["flip"].low, found.intervals["flip"].high) == pytest.approx((flip.low, flip.high))
    assert found.intervals["reliability"].low < found.reliability < found.intervals["reliability"].high


def test_the_command_noise_shows_them(tmp_path):
    goes = [[at % 3 != go for at in range(6)] for go in range(3)]
    made = [{"task_id": f"t{at}", "completion": "", "result": "", "passed": go[at]} for go in goes for at in range(6)]
    write_rows(tmp_path / "m_results.jsonl", made)

    _, shown, _ = markbook("noise", tmp_path / "m_results.jsonl")
    (found,) = json.loads(markbook("noise", tmp_path / "m_results.jsonl", "--json")[1])["models"]

    both = wilson_interval(6, 6)
    assert f"100.0 % [{100 * both.low:.1f}, 100.0]" in shown
    assert found["intervals"]["mixed"]["low"] == both.low
    assert found["pass_hat"]["3"] == 0
    assert found["pass_hat_intervals"]["3"]["high"] == wilson_interval(0, 6).high
    assert re.search(r"0\.00 \[0\.00, 0\.39\]", shown)


def test_what_judge_and_labels_say_alone_has_an_interval_too(tmp_path):
    write_rows(tmp_path / "j.jsonl", [{"id": at, "score": at % 3 / 2} for at in range(60)])
    write_rows(tmp_path / "l.jsonl", [{"id": at, "label": at % 2} for at in range(20)])
    args = ("judge", "correct", "--judged", tmp_path / "j.jsonl", "--labels", tmp_path / "l.jsonl")

    _, shown, _ = markbook(*args)
    stats = json.loads(markbook(*args, "--json")[1])["stats"]

    # 20 labels, half of them 1: .5 +- t(19) sqrt(.25 / 19)
    assert (stats["labels_low"], stats["labels_high"]) == pytest.approx((0.5 - 0.24009, 0.5 + 0.24009), abs=1e-4)
    assert "labels alone  0.5000   [0.2599, 0.7401]" in shown
    assert f"judge alone   0.5000   [{stats['judge_low']:.4f}, {stats['judge_high']:.4f}]" in shown


def test_a_group_whose_tasks_count_the_same_has_an_interval(tmp_path):
    task = "name: {0}\ndata: {{path: {0}.jsonl}}\nprompt: '{{{{ q }}}}'\nreference: '{{{{ a }}}}'\nmetrics: [exact_match]\n"
    for name, right in (("one", [1, 1, 1, 0]), ("two", [1, 0, 0, 0, 0, 0])):
        write_rows(tmp_path / f"{name}.jsonl", [{"q": "?", "a": "x"} for _ in right])
        write_rows(tmp_path / "said" / f"{name}.jsonl", [{"prediction": "x" if hit else "y"} for hit in right])
        (tmp_path / f"{name}.yaml").write_text(task.format(name))
    (tmp_path / "g.yaml").write_text(
        "group: g\ntasks: [one.yaml, two.yaml]\nsummarise: [{metric: exact_match, weight_by_size: false}]\n"
    )

    args = ("--predictions", tmp_path / "said", "--output", tmp_path / "o")
    code, out, err = markbook("run", tmp_path / "g.yaml", *args, "--json")
    found = json.loads(out)["groups"]["g"]["metrics"]["exact_match"]

    # Means 3/4 of 4 and 1/6 of 6, each with Wilson's interval: the squared distances add up (MOVER).
    ends = [scipy.stats.binomtest(hits, n).proportion_ci(method="wilson") for hits, n in ((3, 4), (1, 6))]
    below = math.hypot(3 / 4 - ends[0].low, 1 / 6 - ends[1].low) / 2
    above = math.hypot(ends[0].high - 3 / 4, ends[1].high - 1 / 6) / 2
    assert code == 0, err
    assert found["value"] == pytest.approx((3 / 4 + 1 / 6) / 2)
    assert found["interval"]["method"] == "mover"
    assert (found["interval"]["low"], found["interval"]["high"]) == pytest.approx((11 / 24 - below, 11 / 24 + above))
    assert "one: the interval may be too narrow" in found["note"]
    assert found["bounds"] == pytest.approx([11 / 24, 11 / 24])
