"""Everything that only an exam needs, and what the rest of the house sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markbook.option import Limits
from markbook.runs.kind import Kind, Machines, Watcher, WorkEnd

if TYPE_CHECKING:
    from markbook.runs.exam.exam_options import ExamOptions
    from markbook.runs.exam.plan import ExamPlan
    from markbook.runs.exam.results import ExamResults
    from markbook.store import Run, RunWriter


class Exam(Kind["ExamOptions", "ExamPlan"]):
    """The kind of run that `markbook exam` makes."""

    reads_partial = True
    answers = "solutions/"

    def plan(self, request: ExamOptions, machines: Machines) -> ExamPlan:
        """Read the benchmark and the answers."""
        from markbook.runs.exam.plan import plan_exam

        return plan_exam(request, machines)

    def start(self, plan: ExamPlan, machines: Machines) -> None:
        """Check the model, if one is asked, start the sandbox and see that programs can run within a limit of its own."""
        from markbook.programs import ensure_fits, program_language

        if plan.questions is not None:
            from markbook.runs.asking import check_generator

            check_generator(plan.questions.generator)
        machines.start_sandbox(plan.options.box(plan.languages), plan.attempts)
        limits = plan.options.limits()
        is_usual = limits.memory_bytes == Limits().memory_bytes
        if machines.box is not None and not is_usual and not all(map(program_language, plan.benchmark.samples)):
            ensure_fits(machines.box, limits)

    def work(self, plan: ExamPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
        """Ask for the answers where a model is to give them, run and mark them."""
        from markbook.runs.exam.work import mark_answers

        return mark_answers(plan, journal, machines, watch)

    def results(self, run: Run) -> ExamResults:
        """Return what there is to say of an exam, also of one that broke off."""
        from markbook.runs.exam.results import ExamResults

        return ExamResults(run, run.manifest)
