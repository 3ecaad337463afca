"""Everything that only a run of tasks needs, and what the rest of the house sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markbook.runs.kind import Kind, Watcher, WorkEnd

if TYPE_CHECKING:
    from markbook.runs.kind import Machines
    from markbook.runs.tasks.finished import TaskResults
    from markbook.runs.tasks.task_options import TaskOptions
    from markbook.runs.tasks.work import TasksPlan
    from markbook.store import Run, RunWriter


class Tasks(Kind["TaskOptions", "TasksPlan"]):
    """The kind of run that `markbook run` makes."""

    answers = "([^/]+/)?answers/"

    def plan(self, request: TaskOptions, machines: Machines) -> TasksPlan:
        """Read tasks, rows and answers."""
        from markbook.runs.tasks.work import plan_run

        return plan_run(request, machines)

    def start(self, plan: TasksPlan, machines: Machines) -> None:
        """Find out whether the model and the judges can be asked, and start the sandbox if any task runs tests."""
        from markbook.runs.asking import check_generator
        from markbook.runs.tasks.plan import iterate_judges

        check_generator(plan.generator)
        for _, metric in iterate_judges(plan.plan.tasks):
            metric.check()
        if plan.runs_tests:
            from markbook.programs.sandboxes import BoxSettings

            options = plan.options
            languages = {task_plan.passes.language for task_plan in plan.plan.tasks if task_plan.passes} - {""}
            machines.start_sandbox(
                BoxSettings(options.workers, options.isolation, languages=tuple(sorted(languages)), explain=True)
            )

    def work(self, plan: TasksPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
        """Ask, run and measure."""
        from markbook.runs.tasks.work import answer_and_mark

        return answer_and_mark(plan, journal, machines, watch)

    def results(self, run: Run) -> TaskResults:
        """Return what there is to say of a finished run of tasks."""
        from markbook.runs.tasks.finished import TaskResults

        return TaskResults(run)
