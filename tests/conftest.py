"""What every test may ask for, and what makes the suite's verdict the same on every day.

Examples are drawn by a fixed seed and tests run in a fixed shuffled order, so that a red suite means a change. `make
fuzz` searches with new seeds; what it finds becomes an `@example` beside its test.
"""

import contextlib
import gc
import os
from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from support import byte_code, levels
from support.paths import SHARED
from support.times import Times

SEED = 20261121
PATIENT = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}  # how long an example takes depends on the load
settings.register_profile("steady", derandomize=True, **PATIENT)
settings.register_profile("search", max_examples=1000, print_blob=True, **PATIENT)
settings.load_profile("steady")


def pytest_addoption(parser):
    """Say which cases run, and whether their cost is measured."""
    parser.addoption(
        "--level", choices=levels.LEVELS, default="all", help="which cases run (tests/support/levels.py says how)"
    )
    parser.addoption("--times", metavar="FILE", help="measure the CPU seconds of each case; JSON lines go to FILE")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Fix the seed of pytest-randomly unless one was named."""
    if getattr(config.option, "randomly_seed", None) == "default":
        config.option.randomly_seed = SEED
    levels.seed()  # before workers start, so that they draw alike
    if config.option.level != "all":  # else the threads of each process of the suite wait for one another
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    byte_code.share(config)
    gc.disable()  # until all is collected: nothing of it is garbage
    if config.option.times:
        config.pluginmanager.register(Times(config.option.times))


def pytest_report_header(config):
    """Say what is drawn, so that it can be drawn again."""
    return f"level: {config.option.level}" + (
        "" if config.option.level == "all" else f", {levels.DRAW}={levels.seed()}"
    )


def pytest_ignore_collect(collection_path, config):
    """Leave out files that a level has nothing of."""
    return levels.is_left_out(collection_path, config.option.level) or None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return three processes a core: much of the suite's time is waiting for programs that sleep or are started."""
    return min(12, 3 * len(os.sched_getaffinity(0)))


LONG = (
    "test_published", "test_exam_verdicts", "test_init", "test_exam_reliability", "test_sandbox_attacks_shapes", "test_sandbox_red12",
    "test_serve_faults", "test_browse", "test_load_extraction", "test_rewards", "test_report_laws", "test_sandbox_honest",
    "test_sandbox_attacks", "test_tasks_run", "test_docs", "test_server", "test_sandbox_separated", "test_report_html",
    "test_suites", "test_sandbox_beside", "test_user_tasks", "test_plugins_broken", "test_stdio_turns", "test_damaged_folders",
    "test_store_faults", "test_sandbox_circular", "test_foreign", "test_model_requests", "test_metrics_oracles", "test_commands_reliability",
    "test_sandbox_long_tests", "test_noise", "test_codebleu_laws", "test_compare_page", "test_stats", "test_judge_corners",
    "test_judge_check_report", "test_label", "test_languages", "test_exam_commands", "test_cli_gates", "test_sandbox_forgeries",
    "test_task_attacks", "test_sandbox_lent", "test_compare_tables",
)  # fmt: skip
"""The files that take longest, by the clock: the last of them would be waited for alone."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what this level does not run; where several processes share the rest, begin with the files that take longest."""
    items[:], left = levels.select(items, config.option.level, levels.seed())
    config.hook.pytest_deselected(items=left)
    if config.option.level != "all":
        levels.with_fewer_examples(items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        places = {name: place for place, name in enumerate(LONG)}
        items.sort(key=lambda item: places.get(item.path.stem, len(LONG)))


def pytest_collection_finish():
    """Leave what was collected out of every later search for garbage."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def part(request):
    """Return what draws from a product inside a test: the whole of it with `make test-all`."""
    return levels.Part(request.config.option.level, levels.seed())


@pytest.fixture(scope="session")
def shared_data():
    """Return the folder of real benchmarks, answers and reference values beside the checkout."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip(f"real data is not beside this checkout ({data.parent.name}/data)")
    return data


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Keep what runs leave for later runs out of the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MARKBOOK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def few_workers(request):
    """Start one worker of the sandbox where no number is named, and begin at another processor in each process of the suite.

    By itself an exam of two answers starts one for each processor, and every sandbox begins at the first. `make test-all` leaves it so.
    """
    from markbook.sandbox.worker import WorkerPool

    init, number = WorkerPool.__init__, int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])

    def one(pool, *, count, first=0, **more):
        init(pool, count=count or 1, first=first + number, **more)

    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.level != "all":
            patch.setattr(WorkerPool, "__init__", one)
        yield


@pytest.fixture(scope="module")
def kept_workers(request):
    """Let the sandboxes of a module's tests have the same worker, one after the other, as the answers of an exam do.

    To start one takes longer than most exams of a few answers. `make test-all` starts each.
    """
    from markbook.sandbox.worker import WorkerLost, WorkerPool

    start, close, kept = WorkerPool._worker, WorkerPool.close, {}

    def take(pool, number):
        worker = kept.pop((pool._interpreter.python, pool._target, pool._main, *pool._folders), None)
        if worker and worker._process.poll() is not None:
            worker.close()
            worker = None
        return worker or start(pool, number)

    def greet(worker, hello):
        worker.hello = hello
        return hello

    def keep(pool):
        key = pool._interpreter.python, pool._target, pool._main, *pool._folders
        for worker in [*pool.workers]:
            is_fit = worker.hello and "unfit" not in worker.hello and worker._process.poll() is None
            if is_fit and not worker.jobs and key not in kept:
                with contextlib.suppress(WorkerLost):
                    worker.examine_anew()
                    worker.greet, worker.hello = partial(greet, worker, worker.hello), {}
                    pool.workers.remove(worker)
                    kept[key] = worker
        close(pool)

    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.level != "all":
            patch.setattr(WorkerPool, "_worker", take)
            patch.setattr(WorkerPool, "close", keep)
        yield
    for worker in kept.values():
        worker.close()


@pytest.fixture(scope="module")
def box():
    """Return a sandbox with one worker, in which equal attempts are made again."""
    from markbook.sandbox import Sandbox

    with Sandbox(workers=1, isolation="weak", dedupe=False) as made:
        yield made


@pytest.fixture(scope="module")
def browser():
    """Return a browser, or skip the test: to start one takes longer than most tests in it."""
    from support.browsers import chromium

    with chromium() as started:
        yield started


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder that is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def exam_run(tmp_path):
    """Return a maker of finished exam runs whose outcomes are invented, so that no solution needs to run."""
    from support import made_runs

    def make(name="run", **options):
        return made_runs.exam_run(tmp_path / name, **options)

    return make
