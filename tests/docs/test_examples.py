"""The bundled exam is sound: its own solutions pass, and it shows what an exam can hold."""

import shutil

from markbook.benchmarks.benchmark import load_benchmark
from markbook.installed import example
from markbook.runs.exam.check import check_benchmark


def test_bundled_exam_covers_topics_levels_and_kinds_of_test():
    benchmark = load_benchmark(example("exam") / "benchmark")

    topics = {sample.meta["topic"] for sample in benchmark.samples}
    tests = [test for sample in benchmark.samples for test in sample.tests]
    assert len(benchmark.samples) == 24
    assert len(topics) == 8
    assert {sample.meta["complexity"] for sample in benchmark.samples} == {1, 2, 3}
    assert {sample.problem_type for sample in benchmark.samples} == {"function", "class"}
    assert all(any(getattr(test, part) for test in tests) for part in ("setup", "assertion", "inspection"))


def test_bundled_exams_own_solutions_pass(tmp_path, part):
    files = part.of(sorted((example("exam") / "benchmark").iterdir()), 3, key=lambda path: path.name)
    for path in files:
        shutil.copy(path, tmp_path)

    found = check_benchmark(tmp_path, isolation="weak", timeout=10)

    assert found.problems == ()
    assert found.faults == ()
