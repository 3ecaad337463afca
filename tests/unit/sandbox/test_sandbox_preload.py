"""What solutions import is loaded once a worker, and changes nothing but the time."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from markbook.sandbox import Job, Sandbox
from markbook.sandbox.job import preload
from markbook.sandbox.worker import HERE
from markbook.types import Limits, Sample, Test


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("", (0, [])),
        ("import math, sys\nfrom collections import Counter", (0, [])),
        ("import math, re, json\nfrom typing import List", (1, ["json", "re", "typing"])),
        ("from asyncio import run as go\nimport os.path", (2, ["asyncio"])),
        ("def f():\n    import numpy as np, random\n", (3, ["numpy", "random"])),
        ("from scipy.stats import norm", (3, ["scipy"])),
        ("from jinja2 import Environment", (2, ["jinja2"])),
        ("import numpy as np\nnp.testing.assert_equal(1, 1)", (3, ["numpy", "numpy.testing"])),
        ("from unittest import mock, main\ntesting", (2, ["unittest", "unittest.mock"])),
        ("from . import numpy", (0, [])),
        ("print('import nothing')\nimporter = 1", (0, [])),
        ("import \x00; import ../../numpy", (0, [])),
    ],
)
def test_imports_are_read_off_the_text(code, found):
    assert preload(code) == found


def outcomes(codes, **options):
    sample = Sample(id="x", tests=(Test(program="assert f() == 3"),), entry_point="f")
    with Sandbox(workers=1, isolation="weak", separate=False, **options) as box:
        found = {job.key: outcome for job, outcome in box.run([Job(c, c, sample, Limits(20)) for c in codes])}
        return [found[code] for code in codes]


def test_a_loaded_module_is_there_only_for_who_imports_it():
    codes = [
        "import numpy as np\ndef f():\n    return int(np.add(1, 2))",
        "def f():\n    return int(np.add(1, 2))",
        "def f():\n    return 3",
        "import sqlite3, asyncio\ndef f():\n    return asyncio.run(asyncio.sleep(0, 3))",
        "import numpy.nothing\ndef f():\n    return 3",
    ]

    found = outcomes([*codes, *codes[:1]])

    assert [one.passed for one in found] == [1, 0, 1, 1, 0, 1]
    assert found[1].tests[0].error_type == "NameError"
    assert found[4].error_type == "ModuleNotFoundError"


def test_what_tests_import_that_run_beside_a_solution_is_loaded_once_too():
    code = "import sys\nfound = 'numpy' in sys.modules\ndef f():\n    return found"
    test = Test("import time, numpy", "f()")
    sample = Sample(id="x", tests=(test,), entry_point="f", references=(code,))

    with Sandbox(workers=1, isolation="weak", dedupe=False) as box:
        ((_, outcome),) = box.run([Job("k", code, sample, Limits(20))])

    # who looks into `sys.modules` may have put something there
    assert [(result.passed, result.verdict.value) for result in outcome.tests] == [(True, "unchecked")]


def test_a_module_that_is_not_installed_is_missed_by_who_imports_it(monkeypatch):
    monkeypatch.setattr("markbook.sandbox.job._HEAVY", frozenset(["no_such_package"]))

    found = outcomes(["import no_such_package\ndef f():\n    return 3", "def f():\n    return 3"])

    assert [one.passed for one in found] == [0, 1]
    assert found[0].error_type == "ModuleNotFoundError"


def test_a_worker_with_heavy_packages_is_replaced_where_many_jobs_need_none(monkeypatch):
    monkeypatch.setattr("markbook.sandbox.scheduler._WORTH_A_START", 3)
    monkeypatch.setattr("markbook.sandbox.scheduler._WINDOW", 1)
    starts = []
    monkeypatch.setattr("markbook.sandbox.worker.WorkerPool.replace", _counting(starts))

    heavy = ["import numpy\ndef f():\n    return 3"]
    found = outcomes(heavy + [f"def f():\n    return 3 # {number}" for number in range(2)])
    assert (len(starts), [one.passed for one in found]) == (0, [1, 1, 1])

    monkeypatch.setattr("markbook.sandbox.scheduler._WORTH_A_START", 1)
    found = outcomes(heavy + [f"def f():\n    return 3 # {number}" for number in range(5)])
    assert (len(starts), [one.passed for one in found]) == (1, [1] * 6)


def _counting(starts):
    from markbook.sandbox.worker import WorkerPool

    real = WorkerPool.replace

    def replace(worker_pool, worker):
        starts.append(worker.number)
        return real(worker_pool, worker)

    return replace


def test_the_process_that_is_forked_carries_nothing_that_few_attempts_need():
    code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import guest.supervisor; print(*sys.modules)"

    said = subprocess.run([sys.executable, "-S", "-s", "-P", "-c", code], capture_output=True, text=True, check=True)

    loaded = set(said.stdout.split())
    assert "guest.child" in loaded
    assert not loaded & {"typing", "json", "re", "enum", "socket", "contextlib", "functools", "guest.examination"}


def test_what_is_no_json_is_told_apart_where_json_itself_is_not_loaded():
    code = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "from guest import wire\n"
        "for text in ('{', '[1', '[1] 2', '\"\\\\q\"', 'nul', '', '\"\\\\u12'):\n"
        "    print('json' in sys.modules, end=' ')\n"  # some versions of Python load it to raise its error
        "    try:\n"
        "        print('read', wire.decode(text))\n"
        "    except ValueError:\n"
        "        print('refused')\n"
    )

    said = subprocess.run([sys.executable, "-S", "-s", "-P", "-c", code], capture_output=True, text=True, check=True)

    assert "read" not in said.stdout
    assert said.stdout.count("refused") == 7
    assert said.stdout.startswith("False")


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_a_package_that_says_something_as_it_is_imported_costs_no_worker():
    (found,) = outcomes(["import sklearn\ndef f(): return 3"])

    assert (found.passed, found.error_type) == (True, "")
