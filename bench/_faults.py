"""The fault table R1-R22: what may go wrong, what then happens, and the tests that hold it for each command."""

from __future__ import annotations

from dataclasses import dataclass, field

COMMANDS = ("all", "exam", "run", "review")
"""Where a test belongs: to what the commands share (the store, the readers' rules, the reports), or to one of them."""

_C, _H = "test_commands_reliability.py", "test_commands_hostile.py"


def _each(test: str, file: str = _C) -> dict[str, tuple[str, ...]]:
    """Return one parametrised test as the test of each command."""
    return {name: (f"{file}::{test}*[[]*{name}*]",) for name in ("exam", "run", "review")}


def _asking(test: str) -> dict[str, tuple[str, ...]]:
    return {name: (f"{_C}::{test}*[[]*{name}*]",) for name in ("run", "review")}


def _with(one: dict[str, tuple[str, ...]], **more: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {name: (*one.get(name, ()), *more.get(name, ())) for name in COMMANDS if name in one or name in more}


@dataclass(frozen=True)
class Fault:
    """A row of the table."""

    number: str
    fault: str
    behaviour: str
    tests: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By command: `file.py::pattern` of test names."""


_LAST = "test_every_operation_of_the_disk_may_be_the_last"
TABLE = (
    Fault(
        "R1", "kill -9 at any moment", "`--resume` gives identical files; no acknowledged work is lost or repeated",
        _with(
            {name: (f"{_C}::{_LAST}[[]killed-{name}]",) for name in ("exam", "run", "review")},
            all=("test_store_crash.py::*", "test_store_faults.py::test_killed_process*"),
            exam=("test_exam_reliability.py::test_ended_run*",),
            run=(f"{_C}::test_a_kill_at_any_moment*[[]run]", "test_tasks_run.py::test_a_run_killed_half_way*"),
            review=(
                f"{_C}::test_a_kill_at_any_moment*[[]review]", "test_review_pipeline.py::test_a_killed_run*",
                "test_judge_cassette.py::*killed_at_any_byte*",
            ),
        ),
    ),
    Fault("R2", "power loss", "as R1, but the last group of rows that was not yet acknowledged may be repeated", {"all": ("test_store_crash.py::*",)}),
    Fault(
        "R3", "disk full", "exit 74; the message names the path and says how to free space; `--resume` then gives identical files",
        _with(
            {name: (f"{_C}::{_LAST}[[]failing-{name}]",) for name in ("exam", "run", "review")},
            all=("test_store_faults.py::test_full_disk*",),
            review=("test_review_pipeline.py::test_a_full_disk*", "test_judge_cassette.py::test_a_full_disk*"),
        ),
    ),
    Fault(
        "R4", "I/O error on any write, sync, rename, open", "as R3; a failed sync never counts as a success",
        _with(
            {name: (f"{_C}::{_LAST}[[]failing-{name}]",) for name in ("exam", "run", "review")},
            all=("test_store_faults.py::test_every_failing_operation*", "test_store_faults.py::test_failed_sync*"),
        ),
    ),
    Fault("R5", "read-only output", "exit 73 before anything runs or any model is queried", _each("test_output_that_cannot_be_written")),
    Fault(
        "R6", "malformed input", "a bad line is rejected and counted, with file:line and reason; no reader crashes",
        {
            "all": ("test_files_jsonl.py::*", "test_fuzz.py::*"),
            "exam": ("test_benchmark.py::*", "test_answers.py::*"),
            "run": ("test_tasks_rows.py::*", "test_predictions.py::*"),
            "review": (f"{_H}::test_every_kind_of_broken_row*", f"{_H}::test_a_judges_own_words*", "test_peerread*.py::*"),
        },
    ),
    Fault(
        "R7", "duplicate or unknown ids", "refused, merged, numbered or counted; the message names them",
        {
            "exam": (
                "test_answers.py::*repeat*", "test_answers.py::*number*", "test_answers.py::*unknown*",
                "test_answers.py::*order_and_split*", "test_benchmark.py::*duplicate*",
            ),
            "run": (
                "test_tasks_rows.py::test_two_rows_of_one_id*", "test_predictions.py::test_a_second_answer*",
                "test_predictions.py::test_answers_to_rows_that_the_task_lacks*",
            ),
            "review": (
                "test_peerread.py::test_papers_of_one_name*", "test_peerread_generated.py::test_several_attempts*",
                "test_review_pipeline.py::test_a_review_of_an_unknown_paper*",
            ),
        },
    ),
    Fault(
        "R8", "solutions that crash, exhaust memory or flood the output; lost workers", "only that solution is affected; a lost worker causes one line of output",
        {
            "exam": ("test_exam_reliability.py::*killer*",),
            "run": ("test_pass_at_k.py::*", f"{_H}::test_a_models_own_words*"),
            "review": ("test_review_asking.py::test_a_lost_worker*", f"{_H}::test_a_judges_own_words*"),
        },
    ),
    Fault("R9", "clock jumps", "results do not depend on the wall clock", _each("test_a_clock_that_jumps")),
    Fault(
        "R10", "judge and server faults", "bounded retries, then missing; never a made-up score",
        {
            "run": ("test_generate.py::*", "test_tasks_run.py::test_a_model_that_is_down*"),
            "review": ("test_judge_client.py::*", "test_review_pipeline.py::test_a_judge*", "test_review_pipeline.py::test_a_panel*"),
        },
    ),
    Fault(
        "R11", "injection in judged text", "a score comes only from the judge's structured reply",
        {"review": ("test_judge_reply.py::*", f"{_H}::test_200_injections*")},
    ),
    Fault(
        "R12", "hostile names", "each gets its own folder inside the run; systems' names never become file names",
        {
            "exam": ("test_report_names.py::*", "test_exam.py::*hostile_model_name*"),
            "review": (f"{_H}::test_a_systems_name*", "test_review_pipeline.py::test_hostile_names*"),
        },
    ),
    Fault(
        "R13", "CSV, HTML, Markdown, terminal injection", "no new HTML element, script or formula is created",
        {
            "all": ("test_text.py::*", "test_report_formats.py::test_hostile_words*"),
            "exam": ("test_report_html.py::*payloads*",),
            "run": (f"{_H}::test_a_models_own_words*",),
            "review": (f"{_H}::test_payloads_in_every_field*", "test_review_pipeline.py::test_the_page_is_made*"),
        },
    ),
    Fault(
        "R14", "YAML tags, alias bombs, configs that request code", "refused; no code runs",
        {
            "run": ("test_config.py::*", "test_config_tree.py::*", "test_tasks_run.py::*never_runs", "test_tasks_run.py::*outside_the_tasks*"),
            "review": (f"{_H}::test_a_config_that_cannot*",),
        },
    ),
    Fault(
        "R15", "gzip bombs", "refused by size limits",
        {"all": ("test_files_jsonl.py::*gzip*",), "run": (f"{_H}::*gzip*[[]run]",), "review": (f"{_H}::*gzip*[[]review]",)},
    ),
    Fault(
        "R16", "planted symbolic links, pipes as input", "links are never followed, pipes never block a run",
        _with(
            _each("test_a_planted_link"), all=("test_store.py::*planted*", "test_files_jsonl.py::*pipe*"),
            review=(f"{_H}::test_pipes_and_links*",),
        ),
    ),
    Fault(
        "R17", "secrets", "the sandbox has a fixed list of environment variables; no secret is written or printed, even if a server repeats it",
        _with(
            _each("test_no_secret_is_written"), exam=("test_exam_reliability.py::*secret*",),
            run=("test_tasks_run.py::test_keys_are_written_nowhere",),
        ),
    ),
    Fault(
        "R18", "two runs in one folder", "the second exits 75 and names the first",
        _with(
            _each("test_a_second_run_in_the_folder"),
            all=("test_store_faults.py::test_eight_runs*", "test_store.py::test_second*"),
        ),
    ),
    Fault(
        "R19", "memory growth", "constant in the number of attempts; small per review",
        {"exam": ("test_exam_reliability.py::*memory_does*",), "review": (f"{_H}::test_memory_of_reviews*",)},
    ),
    Fault(
        "R20", "determinism", "identical files for any worker count, hash seed and row order",
        _with(
            _each("test_the_hash_seed"),
            exam=("test_exam.py::*worker_count*", "test_exam_reliability.py::*hash_seed*"),
            run=("test_tasks_run.py::test_two_runs*", "test_tasks_run.py::test_measuring_in_workers*"),
            review=("test_review_asking.py::test_workers_and_slow_judges*", "test_review_pipeline.py::*same_bytes*"),
        ),
    ),
    Fault(
        "R21", "Ctrl-C, SIGTERM, kill of the parent", "ends within 5 s, exit 130 or 143, no process left, resumable",
        _with(_asking("test_an_ended_run_leaves_nothing"), exam=("test_exam_reliability.py::test_ended_run*",)),
    ),
    Fault(
        "R22", "other platforms, weak isolation", "a known correct and an empty program run first; unsupported work is refused, never scored 0",
        {"all": ("test_self_check.py::*", "test_sandbox.py::*refuse*")},
    ),
)  # fmt: skip
