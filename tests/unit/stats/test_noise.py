"""How much a result moves when nothing changes."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import statistics
from pathlib import Path

import pytest
from click.testing import CliRunner

from markbook import stats
from markbook.cli import cli
from markbook.errors import DataError
from markbook.results.noise import noise_of_model
from markbook.results.sheet import Cell, Sheet
from markbook.stats.noise import estimate_noise, repeats_needed
from markbook.stats.passes import pass_hat_k


def run_cli(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args])


def test_flips_are_counted_over_pairs_and_over_items():
    found = estimate_noise([[0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1], [1]])
    assert (found.n_items, found.n_values) == (3, 12)
    assert found.mixed == pytest.approx(2 / 3)
    assert found.flip == pytest.approx((3 / 6 + 0 + 4 / 6) / 3)
    assert found.within == pytest.approx((0.25 + 0 + 1 / 3) / 3)


@pytest.mark.parametrize("seed", range(5))
def test_flips_equal_what_enumeration_counts(seed):
    rng = random.Random(seed)
    items = [[rng.choice((0, 0.5, 1)) for _ in range(rng.randint(2, 6))] for _ in range(8)]
    pairs = [[a != b for a, b in itertools.combinations(one, 2)] for one in items]
    assert estimate_noise(items).flip == pytest.approx(statistics.mean(map(statistics.mean, pairs)), abs=1e-12)


def test_two_runs_of_the_same_system_differ_by_more_than_said_in_one_of_twenty():
    rng = random.Random(1)
    chances = [rng.random() for _ in range(200)]

    def run():
        return [float(rng.random() < chance) for chance in chances]

    limit = estimate_noise(list(zip(*(run() for _ in range(8)), strict=True))).difference
    beyond = sum(abs(statistics.mean(run()) - statistics.mean(run())) > limit for _ in range(1000))
    assert 25 <= beyond <= 75


def test_repeats_needed_is_the_textbook_number():
    # n = 2 s^2 (z.975 + z.8)^2 / (items d^2)
    assert repeats_needed(0.2, 100, 0.05) == math.ceil(2 * 0.2 * (1.959964 + 0.841621) ** 2 / (100 * 0.05**2))
    assert repeats_needed(0.0, 10, 0.01) == 1
    with pytest.raises(ValueError, match="positive"):
        repeats_needed(0.1, 10, 0.0)


@pytest.mark.parametrize("k", [3, 5])
def test_reliability_is_that_of_all_repeats_also_of_an_odd_number(k):
    # True scores and noise of the same variance: the mean of k repeats has the reliability k / (k + 1).
    rng = random.Random(k)
    items = [[level + rng.gauss(0, 1) for _ in range(k)] for level in (rng.gauss(0, 1) for _ in range(600))]

    found = estimate_noise(items)

    assert found.reliability == pytest.approx(k / (k + 1), abs=0.025)
    assert found.intervals["reliability"].low < k / (k + 1) < found.intervals["reliability"].high


def test_neither_the_order_of_runs_nor_of_items_moves_a_number(tmp_path):
    rng = random.Random(5)
    runs = [[float(rng.random() < share) for share in (0.1, 0.9, 0.5, 0.7) * 3] for _ in range(3)]

    def noise_of(*runs):
        files = []
        for number, values in enumerate(runs):
            files.append(tmp_path / f"{number}.jsonl")
            rows = [{"id": at, "model": "m", "score": value} for at, value in values]
            files[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
        result = run_cli("noise", *files, "--map", "item=id,model=model,score=score", "--json")
        assert result.exit_code == 0
        return json.loads(result.stdout)

    orders = [
        noise_of(*([*enumerate(runs[at])][::step] for at in order))
        for order in itertools.permutations(range(3))
        for step in (1, -1)
    ]

    assert orders[0]["models"][0]["reliability"] is not None
    assert all(order == orders[0] for order in orders)


def test_items_of_which_one_flips_are_reliable_and_coin_tosses_are_not():
    rng = random.Random(2)
    still = [[float(at % 2)] * 4 for at in range(40)]
    assert estimate_noise(still).reliability is None
    assert 0.9 < estimate_noise([*still, [0.0, 0.0, 0.0, 1.0]]).reliability < 1.0
    tossed = estimate_noise([[float(rng.random() < 0.5) for _ in range(8)] for _ in range(300)])
    assert abs(tossed.reliability) < 0.25
    assert estimate_noise([[1.0, 1.0]] * 5).reliability is None


def test_pass_hat_k_is_the_share_of_subsets_that_pass_whole():
    tried = [[1, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 1]]
    counts = [(4, sum(one)) for one in tried]
    for k in range(1, 5):
        subsets = [[all(part) for part in itertools.combinations(one, k)] for one in tried]
        assert pass_hat_k(counts, k) == pytest.approx(statistics.mean(map(statistics.mean, subsets)), abs=1e-12)
    assert pass_hat_k(counts, 5) is None


def test_repeats_of_one_file_and_of_several_runs_are_the_same(tmp_path):
    rng = random.Random(3)
    goes = [[rng.random() < at / 12 for at in range(12)] for _ in range(3)]
    rows = [{"task_id": f"t{at}", "completion": "x", "result": "", "passed": go[at]} for go in goes for at in range(12)]
    (tmp_path / "m_results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number in range(3):
        part = rows[12 * number : 12 * number + 12]
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "m_results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    one = json.loads(run_cli("noise", tmp_path / "m_results.jsonl", "--json").stdout)
    several = json.loads(run_cli("noise", *(tmp_path / str(number) for number in range(3)), "--json").stdout)
    assert one == several
    (found,) = one["models"]
    assert (found["n_items"], found["n_values"]) == (12, 36)
    shown = run_cli("noise", tmp_path / "m_results.jsonl").stdout.partition("pass^k")[2].partition("Repeats")[0]
    assert f"{found['pass_hat']['3']:.2f}" in shown
    assert "%" not in shown


def test_repeats_that_never_vary_bound_the_noise_and_do_not_show_that_there_is_none(tmp_path):
    lines = "".join(
        json.dumps({"task_id": f"t{at}", "completion": "x", "result": "", "passed": at % 2 == 0}) + "\n"
        for _ in range(3)
        for at in range(12)
    )
    (tmp_path / "m_results.jsonl").write_text(lines)

    (found,) = json.loads(run_cli("noise", tmp_path / "m_results.jsonl", "--json").stdout)["models"]
    shown = " ".join(run_cli("noise", tmp_path / "m_results.jsonl").stdout.split())

    # The Wilson upper end of 0 in 12, z^2 / (n + z^2): about 3 / n.
    share = 1.959964**2 / (12 + 1.959964**2)
    assert (found["single_run"], found["difference"], found["reliability"], found["repeats_needed"]) == (
        None,
        None,
        None,
        {},
    )
    assert found["largest_within"] == pytest.approx(share / 2, rel=1e-5)
    assert found["largest_difference"] == pytest.approx(1.959964 * math.sqrt(share / 12), rel=1e-5)
    assert found["most_repeats_needed"]["0.1"] == math.ceil(share * (1.959964 + 0.841621) ** 2 / (12 * 0.1**2))
    assert (
        "nothing was seen to vary in 36 values of 12 samples; up to 24.2 % of all samples like these may vary" in shown
    )
    assert "at most 0.28" in shown
    assert "at most 16" in shown


def test_one_run_without_repeats_says_nothing_and_is_told_so(tmp_path):
    (tmp_path / "m_results.jsonl").write_text('{"task_id": "a", "completion": "", "result": "", "passed": true}\n')
    result = run_cli("noise", tmp_path / "m_results.jsonl")
    assert isinstance(result.exception, DataError)
    assert "two runs of the same model" in str(result.exception)


def test_tau_bench_trajectories_flip_as_counted_by_hand(shared_data):
    path = shared_data / "agent-traces" / "tau-bench" / "gpt-4o-airline_tasks0-11x4.json"
    (found,) = json.loads(run_cli("noise", path, "--json").stdout)["models"]
    tasks: dict[int, list[float]] = {}
    for one in json.loads(path.read_text()):
        tasks.setdefault(one["task_id"], []).append(one["reward"])
    assert (found["n_items"], found["n_values"]) == (12, 48)
    assert found["mixed"] == sum(len(set(rewards)) > 1 for rewards in tasks.values()) / 12
    # tau-bench's own formula (run.py, display_metrics): the mean of comb(c, k) / comb(trials, k).
    for k in range(1, 5):
        own = statistics.mean(math.comb(round(sum(rewards)), k) / math.comb(4, k) for rewards in tasks.values())
        assert found["pass_hat"][str(k)] == pytest.approx(own, abs=1e-12)


def test_tau_bench_flips_and_passes_as_published(tmp_path):
    # gpt-4o's airline trajectories as tau-bench shares them: of 50 tasks, by how many of 4 trials pass. Published: pass^1
    # to pass^4 (tau-bench's README), and 52 % of the tasks neither always pass nor always fail (tau-bench#57).
    passed = {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}
    counts = [count for count, tasks in passed.items() for _ in range(tasks)]
    rows = [
        {"task_id": task, "reward": float(trial < count), "info": {}, "traj": [], "trial": trial}
        for trial in range(4)
        for task, count in enumerate(counts)
    ]
    (tmp_path / "gpt-4o-airline.json").write_text(json.dumps(rows))

    (found,) = json.loads(run_cli("noise", tmp_path / "gpt-4o-airline.json", "--json").stdout)["models"]

    assert (found["n_items"], found["n_values"], found["mixed"]) == (50, 200, 0.52)
    assert [round(found["pass_hat"][str(k)], 3) for k in range(1, 5)] == [0.42, 0.273, 0.22, 0.2]


def test_no_second_place_counts_the_ways_to_draw_k_attempts():
    """pass@k and pass^k are in `stats/passes.py`; whoever calls `math.comb` elsewhere writes one of them again."""
    source = Path(stats.__file__).parents[1]

    own = [path.name for path in source.rglob("*.py") if re.search(r"\bcomb\(", path.read_text(encoding="utf-8"))]

    assert own == ["passes.py"]


def test_where_lower_is_better_a_repeat_passes_with_the_low_end():
    cells = [{"a": (0.0, 0.0), "b": (0.0, 1.0), "c": (1.0, 1.0)}]
    marks = {name: Cell(statistics.mean(values), values=values) for name, values in cells[0].items()}
    sheet = Sheet("error", {"m": marks}, direction="lower", origins={"m": (0, "m")})

    # Two right of two for a, one for b, none for c: pass^1 = (1 + 1/2 + 0) / 3, pass^2 = (1 + 0 + 0) / 3.
    assert [round(hat.value, 6) for hat in noise_of_model("m", sheet).pass_hat.values()] == [0.5, 0.333333]


@pytest.mark.parametrize("limits", [(0.0, 5.0), (-1.0, 1.0)])
def test_a_scale_whose_top_is_not_one_has_no_passes(limits):
    sheet = Sheet("grade", {"m": {"a": Cell(1.0, values=(1.0, 1.0))}}, limits, origins={"m": (0, "m")})

    assert noise_of_model("m", sheet).pass_hat == {}


def test_drawn_numbers_depend_neither_on_the_order_of_items_nor_on_which_model_comes_first():
    rng = random.Random(3)
    first, second = ([rng.random() for _ in range(40)] for _ in range(2))
    shuffled = rng.sample(range(40), 40)

    p = stats.sign_flip_test(first, second, n_resamples=5_000).p
    turned = stats.sign_flip_test(second, first, n_resamples=5_000).p
    moved = stats.sign_flip_test([first[at] for at in shuffled], [second[at] for at in shuffled], n_resamples=5_000)

    assert p == turned == moved.p
    means = [stats.bootstrap_mean(values, n_resamples=2_000) for values in (first, [first[at] for at in shuffled])]
    assert (means[0].low, means[0].high) == (means[1].low, means[1].high)
