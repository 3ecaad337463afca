"""Which cases run at which level: one place for the rule.

- `quick`: the files of `QUICK`, less what is marked `slow`. The others are not even imported.
- `test`: every test, of large products and of expensive cases a part (`PARTS`, `EXPENSIVE`, and the fixture `part` for
  products inside a test).
- `all`: everything. It is what `pytest` does by itself, so a case that is named is run whatever has been drawn.

A part is stratified: of each stratum (a file of a corpus, a rule, a way) one case in so many is drawn, and never none. It is
drawn by a digest of the sources and the case's name. So the same sources always draw the same, in every worker and on
every machine, and the next commit draws another part. `MARKBOOK_TEST_DRAW` names a draw instead, to have one again.
"""

import hashlib
import os
from collections import defaultdict
from pathlib import Path

from hypothesis import settings

from support import honest_kit

LEVELS = ("quick", "test", "all")
DRAW = "MARKBOOK_TEST_DRAW"
ROOT = Path(__file__).resolve().parents[2]
QUICK = frozenset(
    (
        "test_absurd_input",
        "test_answers",
        "test_benchmark",
        "test_comparison",
        "test_composite",
        "test_config",
        "test_errors",
        "test_files_spool",
        "test_foreign_shapes",
        "test_headline",
        "test_judge_reply",
        "test_load_extraction",
        "test_metrics_adapters",
        "test_metrics_columns",
        "test_metrics_edit_distance",
        "test_metrics_laws",
        "test_metrics_measure",
        "test_pass_at_k",
        "test_plugins",
        "test_predictions",
        "test_quality",
        "test_replies",
        "test_review_config",
        "test_review_scores",
        "test_rewards_turns",
        "test_sandbox_aliases",
        "test_sandbox_job_queue",
        "test_sequential_signs",
        "test_stdio_loaders",
        "test_summary",
        "test_text",
        "test_trace",
        "test_types",
    )
)
"""Files of laws and small parts."""


def honest_file(params):
    """Return the file of `honest/` in which the program of a case stands, and what is run of it."""
    name, *rest = params["case"] if "case" in params else (params["name"],)
    return ("slow",) if name in honest_kit.slow() else (honest_kit.files()[name], *rest)


def honest_name(params):
    """Return the program of a case: both ways and both texts of a program are drawn together, as they share its plain run.

    Of programs of seconds single cases are drawn.
    """
    name, *rest = params["case"] if "case" in params else (params["name"],)
    return " ".join((name, *rest)) if name in honest_kit.slow() else name


def honest_share(params):
    """Return one in how many cases of honest programs is drawn: of programs of seconds fewer."""
    return 120 if honest_file(params) == ("slow",) else 40


def anything(_params):
    """Return one stratum for all cases."""
    return ""


PARTS = {
    "test_verdicts_are_those_of_a_plain_run": (honest_share, honest_file, honest_name),
    "test_verdicts_are_those_of_a_plain_run_at_level_b": (honest_share, honest_file, honest_name),
    "test_the_programs_are_what_they_say": (honest_share, honest_file, honest_name),
    "test_a_change_that_is_hard_to_see_in_the_text_counts_too": (8, anything, None),
    "test_the_right_answer_passes_apart_there_too": (4, anything, None),
    "test_a_change_that_is_not_the_right_answers_is_not_separated": (12, lambda params: params["known"], None),
    "test_one_that_tosses_a_coin_for_every_run_is_hardly_ever_proved": (6, lambda params: params["claim"], None),
    "test_an_ended_run_leaves_nothing_behind_and_can_be_taken_up": (12, anything, None),
    "test_no_secret_is_written_or_said_whatever_the_server_does": (3, lambda params: params["fault"], None),
    "test_one_that_uses_its_time_to_be_tried_less_often_is_not_proved": (3, anything, None),
    "test_a_resume_says_what_is_lost_and_gives_the_same_bytes": (3, lambda params: params["damage"], None),
    "test_a_program_whose_tests_give_its_status_is_marked_by_it": (3, lambda params: params["name"], None),
    "test_a_bomb_stops_no_quality_score": (3, anything, None),
    "test_a_bomb_has_a_value_or_a_reason_on_either_side": (3, anything, None),
    "test_a_gate_that_can_hold_nothing_is_refused_before_any_work": (4, lambda params: params["gate"], None),
    "test_nothing_lent_leads_to_what_the_test_expects": (3, lambda params: params["thing"], None),
    "test_hostile_solutions_change_no_verdict_and_end_no_worker": (3, anything, None),
    "test_wrong_answers_stay_wrong_and_broken_ones_broken": (3, lambda params: params["text"], None),
    "test_a_benchmarks_own_solution_may_be_whole_or_only_a_body": (3, anything, None),
    "test_what_solutions_usually_ask_for_is_answered_apart": (3, lambda params: params["name"], None),
    "test_a_metric_and_its_items_travel_to_a_worker_as_they_are": (3, anything, None),
    "test_the_chosen_interval_covers_partial_credit": (4, lambda params: params["shape"], None),
    "test_an_honest_answer_of_another_make_passes": (3, lambda params: params["name"], None),
    "test_none_that_tampers_passes_and_a_right_answer_beside_it_does": (
        3,
        lambda params: params["key"].partition(" ")[0],
        None,
    ),
    "test_other_tools_and_groups_know_the_same_rows": (3, lambda params: (params["first"], params["second"]), None),
    "test_a_busy_server_is_asked_again": (3, lambda params: params["provider"], None),
    "test_a_fault_at_any_position_fabricates_nothing_and_spares_the_others": (3, lambda params: params["fault"], None),
    "test_the_table_of_character_classes_is_that_of_regex": (3, anything, None),
    "test_other_models_get_their_measured_score": (5, anything, None),
    "test_nothing_gets_past_the_rule_in_another_form": (3, lambda params: params["name"], None),
    "test_right_answers_are_proved_by_what_else_they_are_asked_for": (3, anything, None),
    "test_right_answers_pass_where_none_is_known": (3, anything, None),
    "test_a_hostile_examiner_changes_nothing_for_other_problems_and_models": (3, lambda params: params["how"], None),
    "test_twice_the_text_takes_about_twice_the_time": (4, anything, None),
    "test_twice_the_events_take_about_twice_the_time": (6, anything, None),
    "test_who_changes_what_a_test_expects_does_not_pass_separated": (3, lambda params: params["name"], None),
    "test_how_far_two_arrays_are_apart_is_not_for_the_class_of_one_to_say": (3, lambda params: params["test"], None),
    "test_a_right_answer_passes_beside_a_test_that_means_something_else": (3, lambda params: params["name"], None),
    "test_every_operation_of_the_disk_may_be_the_last": (3, lambda params: params["what"], None),
    "test_what_an_attempt_leaves_in_its_folder_is_gone_before_the_next": (3, lambda params: params["made"], None),
    "test_all_files_of_an_attempt_together_are_limited": (3, lambda params: params["limit"], None),
    "test_the_hash_seed_changes_no_byte": (3, anything, None),
    "test_no_other_form_hides_a_change_either": (12, anything, None),
    "test_the_right_answer_there_is_separated_by_the_changes_of_the_reference": (12, anything, None),
    "test_what_only_seems_to_read_or_to_be_the_right_answers_is_not_separated": (
        6,
        lambda params: params["known"],
        None,
    ),
    "test_a_suite_of_tests_is_called": (3, lambda params: params["tests"], None),
    "test_the_limit_of_a_problem_is_its_canonical_solutions_unless_one_for_all_is_asked_for": (
        3,
        lambda params: params["adapts"],
        None,
    ),
    "test_nor_where_it_is_expected_in_a_roundabout_way": (3, lambda params: params["test"], None),
    "test_who_makes_everything_equal_is_not_believed": (3, lambda params: params["test"], None),
    "test_an_endless_exchange_of_a_solution_with_its_test_ends_alike_every_time": (3, anything, None),
    "test_ended_run_leaves_no_process_and_resumes_to_the_same_bytes": (3, anything, None),
    "test_each_file_in_place_of_which_something_stands": (3, lambda params: params["damage"], None),
    "test_a_forgery_is_not_proved_and_the_right_answer_passes": (3, lambda params: params["forgery"].name, None),
    "test_code_of_a_task_that_fails_before_the_work_is_named_with_its_file": (3, anything, None),
    "test_code_of_a_task_that_fails_at_a_row_leaves_it_without_a_number": (3, anything, None),
    "test_whatever_a_task_prints_is_beside_the_json_output": (3, anything, None),
    "test_an_answer_to_another_question_is_not_marked": (3, anything, None),
    "test_an_answer_counts_for_the_row_that_it_names_alone": (3, anything, None),
    "test_numbers_of_another_measurement_are_not_compared": (3, anything, None),
    "test_no_item_has_a_reward_of_anothers_or_one_that_it_did_not_earn": (3, anything, None),
    "test_a_reply_without_one_clear_verdict_is_none": (3, anything, None),
    "test_what_stands_beside_a_verdict_changes_nothing": (3, anything, None),
    "test_a_right_answer_passes_whatever_it_has_in_common_with_the_reference": (3, lambda params: params["name"], None),
    "test_the_order_of_rows_and_models_changes_no_cell_of_any_report": (3, anything, None),
    "test_other_ids_change_the_ids_and_no_other_cell_of_any_report": (3, anything, None),
    "test_a_twin_of_a_model_has_its_cells_and_changes_no_other_in_any_report": (3, anything, None),
    "test_the_number_of_workers_changes_neither_a_cell_nor_the_order_in_any_report": (3, anything, None),
    "test_what_is_missing_is_counted_in_every_report_and_moves_no_other_cell": (3, anything, None),
    "test_the_order_of_arguments_changes_no_cell_of_a_comparison": (3, anything, None),
    "test_the_same_scores_in_another_format_have_the_same_cells_in_every_report": (6, anything, None),
}
"""By the name of a test: one case in how many, the stratum of a case's parameters, and the name it is drawn by
(None: its own)."""


EXPENSIVE = frozenset((Path(__file__).with_name("expensive.txt")).read_text(encoding="utf-8").split())
"""Tests whose cases take a tenth of a second of CPU or more, as `make test-times` measures them: of their cases one in eight is run."""
LAWS = {"test_metrics_laws": ("name", 9)}
"""By the name of a file: of every test that has this parameter one case in so many."""
RARE = frozenset(
    (
        "test_a_flood_at_a_slow_interactor_is_the_floods_fault[0.01]",
        "test_forty_labels_by_keyboard_killed_in_the_middle_and_two_raters_merged",
        "test_memory_does_not_grow_with_the_attempts",
        "test_memory_of_reviews_and_tasks_hardly_grows",
        "test_mypy_refuses_a_typo_and_takes_what_is_right",
        "test_rows_of_so_many_words_that_an_ngram_needs_more_than_64_bits_have_the_same_counts[40000]",
        "test_ten_megabytes_have_a_value_for_their_words",
        "test_ten_megabytes_have_a_value_or_a_reason",
        "test_it_equals_the_stored_values[torchmetrics_single-exclude-10000-numpy]",
        "test_it_equals_the_stored_values[bert_score_single-match-10000-numpy]",
    )
)
"""Long tests of large inputs, whose rules are held by small ones too."""
RARELY = 10
"""One in so many of the long tests is run."""


def group_of(item):
    """Return what a case is drawn among, and how: its share, stratum and the name that it is drawn by; None if it is not."""
    if item.name in RARE:
        return "rare", RARELY, "", item.nodeid
    params = getattr(item, "callspec", None) and item.callspec.params
    if item.originalname in PARTS:
        share, stratum, key = PARTS[item.originalname]
        share = share(params) if callable(share) else share
        return item.originalname, share, stratum(params), key(params) if key else item.nodeid
    parameter, share = LAWS.get(item.path.stem, ("", 1))
    if params and parameter in params:
        return f"{item.path.stem} {item.originalname}", share, "", item.nodeid
    if params and item.originalname in EXPENSIVE:
        return item.originalname, 8, "", item.nodeid
    return None


def sources_digest():
    """Return a digest of the product and its tests."""
    total = hashlib.sha256()
    for folder in ("src", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def is_left_out(path, level):
    """Whether a file of tests is none of a level's."""
    return level == "quick" and path.name.startswith("test_") and path.stem not in QUICK


def draw(cases, share, seed, key=str, stratum=lambda _case: ""):
    """Return, in their order, one case in `share` of every stratum, rounded up."""
    strata = defaultdict(list)
    for case in cases:
        strata[stratum(case)].append(case)
    drawn = set()
    for members in strata.values():
        members.sort(key=lambda case: hashlib.sha256(f"{seed} {key(case)}".encode()).digest())
        drawn.update(map(id, members[: -(-len(members) // share)]))
    return [case for case in cases if id(case) in drawn]


def select(items, level, seed):
    """Split collected items into those that a level runs and those that it leaves to `all`."""
    if level == "all":
        return list(items), []
    leave = {item for item in items if item.get_closest_marker("exhaustive")}
    if level == "quick":
        leave |= {item for item in items if item.get_closest_marker("slow")}
    groups = defaultdict(list)
    for item in items:
        if item not in leave and (found := group_of(item)):
            name, share, stratum, key = found
            groups[name, share].append((item, stratum, key))
    for (_, share), members in groups.items():
        chosen = draw(members, share, seed, key=lambda member: member[2], stratum=lambda member: member[1])
        leave |= {item for item, _, _ in members} - {item for item, _, _ in chosen}
    return [item for item in items if item not in leave], [item for item in items if item in leave]


EXAMPLES = 4
"""Of the examples that a law is tried with, one in so many; at least ten."""
WHOLE_RUNS = frozenset(("test_report_laws",))
"""Files whose laws make runs and their reports in every example: of these at least two are tried."""


def with_fewer_examples(items):
    """Let laws be tried with fewer examples, drawn by the same seed."""
    for function in {item.obj for item in items if hasattr(item.obj, "hypothesis")}:
        given = getattr(function, _SETTINGS, None) or settings.default
        least = 2 if function.__module__ in WHOLE_RUNS else 10
        few = min(given.max_examples, max(least, given.max_examples // EXAMPLES))
        setattr(function, _SETTINGS, settings(given, max_examples=few))


_SETTINGS = "_hypothesis_internal_use_settings"


class Part:
    """Draws from a product that stands inside a test."""

    def __init__(self, level, seed):
        """Draw at every level but `all`."""
        self.is_whole = level == "all"
        self._seed = seed

    def of(self, cases, share, key=str, stratum=lambda _case: ""):
        """Return the cases that this level runs."""
        cases = list(cases)
        return cases if self.is_whole else draw(cases, share, self._seed, key, stratum)

    def offset(self, share, name):
        """Return a number below `share`, for products that are walked with that step."""
        return 0 if self.is_whole else int(hashlib.sha256(f"{self._seed} {name}".encode()).hexdigest(), 16) % share


def seed():
    """Return what this session draws by, the same in all its processes."""
    return os.environ.setdefault(DRAW, sources_digest())
