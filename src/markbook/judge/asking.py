"""Judges at work: they are asked side by side, in a thread of their own, while the caller does something else.

Each answer is handed over the moment it comes. The order in which answers come is in no report.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from markbook.errors import MarkbookError
from markbook.judge.client import EndRecord, JudgeClient, Judged
from markbook.judge.panel import JudgePlan, open_judges
from markbook.judge.prompts import Call
from markbook.model.budget import AccountRecord
from markbook.model.cassette import Cassette

Key = tuple[str | int, ...]


class JudgeCall(Protocol):
    """One call to one judge, and what is made of its answer."""

    @property
    def model(self) -> str:
        """Return the judge."""
        ...

    @property
    def call(self) -> Call:
        """Return what is sent."""
        ...

    @property
    def key(self) -> Key:
        """Return what names it within its work."""
        ...

    def check(self, payload: str) -> object:
        """Raise `Violation` unless the payload has the asked structure."""
        ...

    def record(self, judged: Judged) -> EndRecord:
        """Return the answer as a journal keeps it."""
        ...


Keep = Callable[[Any, Judged, Key], None]
"""Takes a question's answer, with the question and its whole key."""


@dataclass(frozen=True, slots=True)
class JudgeWork:
    """Something to judge, with the key of its rows."""

    key: Key
    questions: Callable[[], Sequence[JudgeCall]]
    """Makes its questions when its turn comes: a long text is not held in many prompts at once."""


class Asking:
    """The judges of a run; a context manager. Leaving it early ends what is under way.

    Waiting for a judge takes no processor, so a thread beside the measuring costs nothing; the event loop is in that
    thread and not in the first one, so that Ctrl-C is met at once wherever the measuring stands.
    """

    def __init__(
        self,
        plan: JudgePlan,
        keep: Keep,
        *,
        is_done: Callable[[Key], bool] = lambda _key: False,
        tick: Callable[[], None] = lambda: None,
        spent: Mapping[str, float] | None = None,
        cassette: Cassette | None = None,
    ) -> None:
        """Set up, asking nothing.

        Args:
            plan: who is asked, and how patiently.
            keep: takes every end of a call, good or not, in the judges' thread; the caller decides from
                `Judged.is_lasting` whether a later run should ask again.
            is_done: whether the answer of this key is known already.
            tick: is told of each answer.
            spent: US dollars that each judge has cost before, in the run that is resumed.
            cassette: one that is open already and that the caller closes.
        """
        self._plan, self._keep, self._is_done, self._tick = plan, keep, is_done, tick
        self._spent = spent or {}
        self._cassette = cassette
        self.is_complete = False
        """Whether every answer is a lasting one; known once all is finished."""
        self._thread = threading.Thread(target=self._work, name="markbook-judges", daemon=True)
        self._running = threading.Event()
        self._inbox: asyncio.Queue[JudgeWork | None]
        self._loop: asyncio.AbstractEventLoop
        self._task: asyncio.Task[dict[str, AccountRecord]]
        self._error: BaseException | None = None
        self._accounts: dict[str, AccountRecord] = {}
        self._is_over = False

    def __enter__(self) -> Self:
        self._thread.start()
        self._running.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._post(self._task.cancel)
        self._thread.join()

    def give(self, work: JudgeWork) -> None:
        """Have one more thing judged.

        Raises:
            MarkbookError: what ended the asking.
        """
        self.check()
        self._post(lambda: self._inbox.put_nowait(work))

    def check(self) -> None:
        """Raise what has ended the asking, if anything has."""
        if self._error is not None:
            raise self._error

    def finish(self) -> dict[str, AccountRecord]:
        """Wait until everything given is judged and return the judges' accounts.

        Raises:
            MarkbookError: what ended the asking.
        """
        self._post(lambda: self._inbox.put_nowait(None))
        self._thread.join()
        self.check()
        return self._accounts

    def _post(self, action: Callable[[], object]) -> None:
        """Do something in the judges' loop, or nothing if that has ended."""
        if not self._is_over:
            try:
                self._loop.call_soon_threadsafe(action)
            except RuntimeError:
                self._thread.join()  # the loop closed just now

    def _work(self) -> None:
        try:
            self._accounts = asyncio.run(self._main())
        except asyncio.CancelledError:
            pass  # left early: what was kept until now stands
        except BaseException as error:  # noqa: BLE001 - handed on to the thread that asks for the result
            self._error = _plain(error)
        finally:
            self._is_over = True
            self._running.set()

    async def _main(self) -> dict[str, AccountRecord]:
        self._loop = asyncio.get_running_loop()
        self._inbox = asyncio.Queue()
        self._task = asyncio.current_task()  # type: ignore[assignment]  # there is one: this runs in it
        self._running.set()
        async with open_judges(self._plan, self._spent, self._cassette) as (judges, cassette):
            self.is_complete = await self._ask(judges)
            if cassette is not None and self._cassette is None:
                cassette.close(is_complete=self.is_complete)
        return {name: judge.account.as_record() for name, judge in judges.items()}

    async def _ask(self, judges: Mapping[str, JudgeClient]) -> bool:
        """Ask every question of all work until there is no more; return whether every answer is a lasting one."""
        complete = True
        # A queue with a few servers instead of one task a question: memory stays flat in the number of questions.
        waiting: asyncio.Queue[tuple[Key, JudgeCall]] = asyncio.Queue(maxsize=4 * self._plan.patience.concurrency)

        async def feed() -> None:
            while (work := await self._inbox.get()) is not None:
                for question in work.questions():
                    if not self._is_done((*work.key, *question.key)):
                        await waiting.put((work.key, question))

        async def serve() -> None:
            nonlocal complete
            while True:
                key, question = await waiting.get()
                judged = await judges[question.model].judge(question.call, question.check)
                complete &= judged.is_lasting
                self._keep(question, judged, (*key, *question.key))
                self._tick()
                waiting.task_done()

        async with asyncio.TaskGroup() as group:
            servers = [group.create_task(serve()) for _ in range(self._plan.patience.concurrency * len(judges))]
            await feed()
            await waiting.join()
            for server in servers:
                server.cancel()
        return complete


def _plain(error: BaseException) -> BaseException:
    """Return the plain error that a task group has wrapped: the command line knows that one."""
    if isinstance(error, BaseExceptionGroup):
        ours = [inner for inner in error.exceptions if isinstance(inner, MarkbookError)]
        return ours[0] if ours else error
    return error
