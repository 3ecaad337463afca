"""Exam runs for tests of reports and comparisons: real journals with invented outcomes."""

from random import Random

from markbook.runs.exam.view import MODEL, OUTCOME, SAMPLE, attempt_record, sample_record
from markbook.store import Manifest, RunWriter, open_run
from markbook.types import Attempt, ErrorKind, Isolation, Outcome, ProblemType, Sample, Test, TestResult, Verdict

TOPICS = ("closures", "generators", "strings", "numbers")


def sample(number, tests=3, words=str):
    """Return a problem of the exam's own kind."""
    return Sample(
        f"{TOPICS[number % 4]}_{number}",
        words(f"Write f{number}(x) that returns x + {number}."),
        tests=tuple(Test(setup=f"x = {at}", assertion=words(f"f{number}(x) == {number} + x")) for at in range(tests)),
        entry_point=f"f{number}",
        meta={"topic": TOPICS[number % 4], "complexity": 1 + number % 3},
        problem_type=ProblemType.CLASS if number % 5 == 0 else ProblemType.FUNCTION,
    )


def outcome(rng, skill, tests=3, words=str):
    """Return an outcome as a model of this skill (0..1) would have it."""
    draw = rng.random()
    if draw > skill + (1 - skill) / 2:
        kind = rng.choice(list(ErrorKind))
        failed = tuple(TestResult(False, Verdict.SEPARATED, kind.value, "") for _ in range(tests))
        message = words("name 'totl' is not defined")
        return Outcome(failed, kind, kind.value, message, isolation=Isolation.A, seconds=0.01, wall_seconds=0.02)
    passed = tests if draw < skill else rng.randrange(tests)
    results = tuple(
        TestResult(at < passed, Verdict.SEPARATED, "" if at < passed else "AssertionError", "") for at in range(tests)
    )
    return Outcome(results, isolation=Isolation.A, seconds=0.01, wall_seconds=0.02)


def exam_run(output, *, models=None, problems=24, attempts=1, seed=0, absent=0.0, words=str, finish="done", code=None):
    """Write a run and return it.

    Args:
        output: the folder that will hold the run's folder.
        models: skill (0..1) by name.
        problems: how many.
        attempts: for each model and problem.
        seed: of the outcomes.
        absent: share of problems that a model leaves out.
        words: is applied to every text that a benchmark or a model could have written.
        finish: the final status; empty leaves the run unfinished.
        code: makes the answer's code from (model, sample id, index).
    """
    models = models or {"strong": 0.8, "middling": 0.6, "weak": 0.25}
    samples = [sample(number, words=words) for number in range(problems)]
    config = {
        "error_policy": "zero",
        "seed": 0,
        "benchmark_name": "made-up",
        "models": list(models),
        "profile": "corrected",
    }
    write = code or (
        lambda model, sample_id, index: f"def f(x):\n    # {model}, take {index}\n    return x + {len(sample_id)}\n"
    )
    with RunWriter.create(output, Manifest("exam", config, {"benchmark": "0" * 64})) as writer:
        for place, one in enumerate(samples):
            writer.add(SAMPLE, (place,), sample_record(one))
        rng = Random(seed)
        kept = {model: [one for one in samples if rng.random() >= absent] for model in models}
        for model, ones in kept.items():
            writer.add(
                MODEL,
                (model,),
                {"source": f"{len(model)}.jsonl", "attempts": attempts * len(ones), "planned": [attempts] * len(ones)},
            )
        for model, skill in models.items():
            for one in kept[model]:
                for index in range(attempts):
                    attempt = Attempt(one.id, words(write(model, one.id, index)), model, index)
                    result = outcome(rng, skill, words=words)
                    writer.add(OUTCOME, (model, one.id, index), attempt_record(attempt, result), remember=False)
        if finish:
            writer.finish(finish, {"isolation": "A"})
    return open_run(writer.folder)
