"""Whatever an answer does, and however a run ends, nobody else's verdict changes and nothing is left behind."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command_kit import PEAK
from support.exam_kit import answer, hold, problem, rows, scores, write_rows
from support.load import PATIENCE, allowed
from support.review_kit import markbook

from markbook.errors import EnvironmentUnfitError
from markbook.store import open_run

GOOD = "def f(x):\n    return x\n"
KILLERS = {
    "exit": "import os\nos._exit(0)\n",
    "segfault": "import ctypes\nctypes.string_at(0)\n",
    "memory": "def f(x):\n    return [bytearray(1 << 26) for _ in range(10**6)]\n",
    "flood": "def f(x):\n    while True:\n        print('x' * 100000)\n",
    "fork": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        break\n",
    "raise": "raise SystemExit(0)\n",
    "recursion": "def f(x):\n    return f(x)\n",
    "signals": "import signal\nfor n in range(1, 60):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\nwhile True:\n    pass\n",
}
LOOP = "def f(x):\n    while True:\n        pass\n"
SLEEP = "import time\ndef f(x):\n    time.sleep(0.6)\n    return x\n"
TIMEOUT = 0.6
"""Seconds of processor time that an answer has where loops are to be ended by it."""
DETERMINISTIC = ("test_results.jsonl", "test_results_score.json", "test_results_errors.json", "evaluation_summary.md")


def digest(run, models):
    return hashlib.sha256(
        "".join(run.read(f"{m}/{name}") for m in models for name in DETERMINISTIC).encode()
    ).hexdigest()


@pytest.mark.parametrize("workers", [1, 8])
def test_killer_answers_change_nobody_elses_verdict(tmp_path, workers):
    names = [f"p{i}" for i in range(40)]
    places = dict(zip(random.Random(workers).sample(names, len(KILLERS)), KILLERS, strict=True))
    texts = {name: GOOD if i % 3 else "def f(x):\n    return 0\n" for i, name in enumerate(names)}
    problems = [problem(name) for name in names]

    calm = hold(tmp_path / "calm", problems, [answer(name, texts[name]) for name in names], workers=workers)
    answers = [answer(name, KILLERS[places[name]] if name in places else texts[name]) for name in names]
    wild = hold(tmp_path / "wild", problems, answers, workers=workers, timeout=TIMEOUT / 2)

    before = {row["task_id"]: row for row in rows(calm)}
    after = {row["task_id"]: row for row in rows(wild)}
    assert {name: after[name] for name in names if name not in places} == {
        name: before[name] for name in names if name not in places
    }
    assert not any(after[name]["all_tests_passed"] for name in places)
    assert all(after[name]["error_type"] for name in places)


SLOW_PROBLEMS = [problem(f"p{i:02}") for i in range(18)]
SLOW_ANSWERS = [answer(f"p{i:02}", GOOD if i < 10 else f"# {i}\n{LOOP if i % 4 == 0 else SLEEP}") for i in range(18)]


@pytest.fixture(scope="module")
def whole_digest(tmp_path_factory):
    """Return the digest of that exam where nothing ends it."""
    run = hold(tmp_path_factory.mktemp("whole"), SLOW_PROBLEMS, SLOW_ANSWERS, timeout=TIMEOUT, workers=2)
    return digest(run, ["gpt"])


@pytest.fixture
def looping(tmp_path):
    """An exam that takes longer than the test waits: loops, sleepers and quick answers, of which two at least are marked."""
    problems, answers = SLOW_PROBLEMS, SLOW_ANSWERS
    benchmark = write_rows(tmp_path / "benchmark.jsonl", problems)
    solutions = write_rows(tmp_path / "answers.jsonl", answers)
    command = [
        sys.executable, "-m", "markbook", "exam", "--benchmark", str(benchmark), "--solutions", str(solutions),
        "--output", str(tmp_path / "out"), "--isolation", "weak", "--timeout", str(TIMEOUT), "--workers", "2",
    ]  # fmt: skip
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - a build server may have it ignored; no threads here
    )
    deadline = time.monotonic() + allowed(30)
    while time.monotonic() < deadline:
        found = list((tmp_path / "out").glob("evaluation_*/journal/*.jsonl"))
        if found and found[0].read_bytes().count(b'"kind":"outcome"') >= 2:
            break
        time.sleep(0.1)
    else:
        process.kill()
        pytest.fail(f"the exam did not begin: {process.communicate()}")
    workers = descendants(process.pid)
    assert workers
    yield process, workers, problems, answers, found[0].parents[1]
    if process.poll() is None:
        process.kill()
    process.communicate()


def descendants(pid):
    """Return the process ids below one, as far as this namespace shows them."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if parent == pid:
                found += [int(folder.name), *descendants(int(folder.name))]
    return found


def gone(pids):
    """Whether none of the processes is there any more, waiting up to 5 seconds, longer on a busy machine."""
    for _ in range(int(10 * allowed(5))):
        alive = []
        for pid in pids:
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if state != "Z":
                alive.append(pid)
        if not alive:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_ended_run_leaves_no_process_and_resumes_to_the_same_bytes(looping, whole_digest, tmp_path, number, code):
    process, workers, problems, answers, folder = looping

    os.kill(process.pid, number)
    begun = time.monotonic()
    process.wait(timeout=PATIENCE)

    assert process.returncode == code, process.stderr.read()[-3000:]
    assert time.monotonic() - begun < allowed(5)
    assert gone(workers)
    status = open_run(folder).status
    assert status == ("running" if number == signal.SIGKILL else "interrupted")
    assert len(list(open_run(folder).rows("outcome"))) >= 2
    (tmp_path / "in").mkdir()
    for name in ("benchmark", "answers"):
        (tmp_path / "in" / f"{name}.jsonl").write_bytes((tmp_path / f"{name}.jsonl").read_bytes())
    again = hold(tmp_path, problems, answers, timeout=TIMEOUT, workers=2, resume=folder)
    assert digest(again, ["gpt"]) == whole_digest


def test_partial_run_says_how_much_it_scored(looping):
    process, _, _, _, folder = looping
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE)

    _, out, err = markbook("report", folder, "--format", "md")

    marked = len(list(open_run(folder).rows("outcome")))
    assert marked < 18
    assert f"scored {marked} of 18 attempts" in err, (out[:500], err)
    assert f"scored {marked} of 18 attempts" in (folder / "report.md").read_text()


def test_hash_seed_and_row_order_change_no_byte(tmp_path):
    texts = [
        "def f(x):\n    return {x, 'a', 'b', 'c'}\n",
        "def f(x):\n    return hash('x')\n",
        GOOD,
        "def f(x): return y",
    ]
    problems = [problem(f"p{i}", tests=[{"assertion": "str(func(1)) == 'x'"}]) for i in range(8)]
    answers = [answer(f"p{i}", texts[i % 4]) for i in range(8)]
    benchmark = write_rows(tmp_path / "benchmark.jsonl", problems)
    digests = set()
    for seed in ("0", "1", "12345"):
        order = list(answers)
        random.Random(seed).shuffle(order)
        solutions = write_rows(tmp_path / seed / "answers.jsonl", order)
        done = subprocess.run(
            [
                sys.executable, "-m", "markbook", "exam", "--benchmark", benchmark, "--solutions", solutions,
                "--output", tmp_path / "out" / seed, "--isolation", "weak",
            ],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (folder,) = (tmp_path / "out" / seed).iterdir()
        digests.add(digest(open_run(folder), ["gpt"]))

    assert len(digests) == 1


def test_clock_jump_changes_nothing(tmp_path, monkeypatch):
    problems, answers = [problem("a"), problem("b")], [answer("a", GOOD), answer("b", "def f(x): return 0")]
    calm = hold(tmp_path / "calm", problems, answers)
    ticks = iter([1.79e9, 1.79e9 - 86400, 1.79e9 + 86400] * 1000)
    monkeypatch.setattr("time.time", lambda: next(ticks))

    jumpy = hold(tmp_path / "jumpy", problems, answers)

    assert digest(jumpy, ["gpt"]) == digest(calm, ["gpt"])


def test_no_secret_of_the_environment_reaches_an_answer_or_a_file(tmp_path, monkeypatch):
    canaries = {
        name: f"canary-{i}-value" for i, name in enumerate(("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN"))
    }
    for name, value in canaries.items():
        monkeypatch.setenv(name, value)
    spy = "import os\ndef f(x):\n    raise ValueError(str(sorted(os.environ.items())))\n"
    reader = "def f(x):\n    raise ValueError(open('/proc/1/environ').read() + open('/proc/self/environ').read())\n"

    run = hold(tmp_path, [problem("a"), problem("b")], [answer("a", spy), answer("b", reader)])

    written = b"".join(path.read_bytes() for path in run.folder.rglob("*") if path.is_file())
    assert rows(run)[0]["error_message"].startswith("ValueError: [(")
    for value in canaries.values():
        assert value.encode() not in written


def test_read_only_output_is_refused_before_anything_runs(tmp_path):
    if os.getuid() == 0:
        target = Path("/proc/markbook-out")  # nobody may write there, root included
    else:
        target = tmp_path / "locked"
        target.mkdir(mode=0o500)
    benchmark = write_rows(tmp_path / "benchmark.jsonl", [problem("a")])
    solutions = write_rows(tmp_path / "answers.jsonl", [answer("a", GOOD)])

    given = ("--benchmark", benchmark, "--solutions", solutions, "--output", target / "x", "--isolation", "weak")
    code, _, err = markbook("exam", *given)

    assert code == 73
    assert "marked" not in err


@pytest.mark.slow
def test_memory_does_not_grow_with_the_attempts(tmp_path):
    code = PEAK + (
        "import sys\n"
        "from markbook.runs.api import exam\n"
        "exam(sys.argv[1], sys.argv[2], sys.argv[3], isolation='weak', workers=1, reports=('documented',))\n"
    )
    benchmark = write_rows(tmp_path / "benchmark.jsonl", [problem(f"p{i}") for i in range(20)])
    peaks = {}
    for count in (22_000, 42_000):  # both beyond what is kept decoded and sorted without numpy, which has a bound
        # Empty answers need no process, so that this measures the bookkeeping and is done in seconds.
        solutions = tmp_path / f"{count}.jsonl"
        with solutions.open("w") as file:
            for i in range(count):
                file.write(json.dumps(answer(f"p{i % 20}", "", sample=i // 20)) + "\n")
        done = subprocess.run(
            [sys.executable, "-c", code, benchmark, solutions, tmp_path / str(count)],
            capture_output=True,
            text=True,
            check=True,
            # Threads that happen to allocate at once would each take some MiB of their own, most on a busy machine.
            env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        )
        peaks[count] = int(done.stdout) * 1024

    # Bytes an attempt, less than the smallest row as an object takes; bench.reliability has the long slope.
    assert (peaks[42_000] - peaks[22_000]) / 20_000 < 400


def test_scores_of_an_exam_of_nothing_but_killers_are_zero(tmp_path):
    names = list(KILLERS)

    run = hold(
        tmp_path,
        [problem(name) for name in names],
        [answer(name, KILLERS[name]) for name in names],
        timeout=TIMEOUT / 2,
    )

    assert scores(run)["total"] == 0.0
    assert scores(run)["summary"]["overall_stats"]["total_evaluated"] == len(names)


def test_limits_under_which_nothing_runs_are_refused_and_score_nobody(tmp_path):
    with pytest.raises(EnvironmentUnfitError, match="a known program cannot run here within 5 s and 9000000000000 MiB"):
        hold(tmp_path, [problem("a")], [answer("a", GOOD)], memory_mb=9_000_000_000_000)

    assert not list((tmp_path / "out").glob("evaluation_*"))
