"""Which judges are asked, how patiently, and at what cost: the same for reviews, tasks and single files.

Theory of operation
-------------------
`plan_panel` turns options into a `JudgePlan`, `check_plan` refuses before any work what cannot be asked (no key, no package, a
budget without a price), and a `PanelSession` asks.

Two threads take part. The caller's measures texts, reads traces and hands over a `JudgeWork` for each text; the session's own
thread runs the event loop in which all judges are asked side by side. Three things cross between them:

- work, by `call_soon_threadsafe` into the session's inbox;
- answers, by the caller's `keep`, which is called in the session's thread the moment an answer comes: `keep` must be safe there
  (the journal's writer is). An answer has been handed over before that worker asks its next question;
- the error that ended the asking, raised in the caller's thread by the next `give`, `check` or `finish`.

Inside the loop one feeder takes work and makes its questions only when there is room in a short queue, since a paper in twelve
parts before three judges is 36 prompts; so memory is flat in the number of texts. A fixed number of workers takes questions from
the queue; each judge's own limits (concurrency, rate, retries, budget) are its `model.asker.Asker`'s.

Nothing depends on the order in which answers come: rows are found by key, and a question whose key is in the journal is not
asked again. That is all that a resume needs. Leaving the session early (Ctrl-C, an error of the caller) cancels the loop's task;
answers that were kept stand, requests under way are settled in the budget and lost.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from markbook.errors import MarkbookError, UsageError
from markbook.judge.assess import JudgeQuestion, JudgeSettings, PairwiseQuestion
from markbook.judge.client import JudgeClient, Judged
from markbook.judge.judge_options import JudgeOptions, Server, split_judge
from markbook.model import connect
from markbook.model.budget import AccountRecord, Price, parse_price
from markbook.model.cassette import Cassette, is_whole
from markbook.option import JUDGE_PATIENCE, Patience
from markbook.types import Key


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """Who is asked, and how patiently."""

    settings: JudgeSettings
    patience: Patience = JUDGE_PATIENCE
    base_url: str = ""
    cassette: Path | None = None
    price: Price | None = None
    servers: tuple[tuple[str, Server], ...] = ()
    """Of judges that have one of their own, by model."""

    def address(self, model: str) -> str:
        """Return where a judge is asked; empty for its provider's own address."""
        server = dict(self.servers).get(model)
        return self.base_url if server is None else server.url

    def key(self, model: str) -> str | None:
        """Return the key that a judge's own server is sent; None where the provider's usual one goes.

        A server that is not the provider's own gets that key only where it was named for it.

        Raises:
            UsageError: the variable that should hold it does not.
        """
        server = dict(self.servers).get(model)
        if server is None:
            return None
        if not server.key_variable:
            return "" if connect.is_foreign(connect.split_name(model)[0], server.url) else None
        key = os.environ.get(server.key_variable, "")
        if not key:
            raise UsageError(
                f"the environment variable {server.key_variable}, which should hold the key of {model}, is not set",
                hint="leave its name out for a server that asks for no key",
            )
        return key

    def list_addresses(self) -> dict[str, str]:
        """Return where each judge is asked, by an option or the environment, as run.json may hold it; empty for its provider's own."""
        return {model: connect.find_asked_address(model, self.address(model)) for model in self.settings.models}

    def as_record(self) -> dict[str, object]:
        """Return what can change an answer, for the manifest; not how long to wait, nor the address, which stands beside it."""
        return {
            "models": list(self.settings.models),
            "samples": self.settings.samples,
            "temperature": self.settings.temperature,
            "seed": self.settings.seed,
            "max_tokens": self.settings.max_tokens,
            "mode": self.settings.mode,
            "part_chars": self.settings.part_chars,
            "max_retries": self.patience.retries,
            "token_weights": self.settings.token_weights,
        }


def plan_panel(
    models: Sequence[str],
    options: JudgeOptions,
    *,
    seed: int = 0,
    retries: int = JUDGE_PATIENCE.retries,
    seconds: float = JUDGE_PATIENCE.seconds,
    profile: str = "corrected",
) -> JudgePlan:
    """Return the plan for these judges; nothing is checked yet, nothing sent.

    A model is `PROVIDER:NAME`, with `@URL` or `@URL@KEY_VARIABLE` one with a server of its own; `retries` are further
    requests for one judgement, `seconds` the deadline of one request.

    Raises:
        ConfigError: an option out of its range.
        UsageError: no judge, a judge twice, a price that is none.
    """
    options.check()
    if not models:
        raise UsageError("there is no judge to ask", hint="name one with --judge PROVIDER:NAME, or `models`")
    judges = dict.fromkeys(map(split_judge, models))
    names = [model for model, _ in judges]
    if len(set(names)) < len(models):
        raise UsageError(
            "a judge stands twice in the panel", hint="use --judge-samples for several answers of one judge"
        )
    single = options.samples == 1
    # Token probabilities come with the text of a reply, not with a tool call.
    mode = "native" if options.token_weights and options.mode == "auto" else options.mode
    settings = JudgeSettings(
        models=tuple(names),
        samples=options.samples,
        # Several samples are to show how far a judge differs from itself, so their temperature is not 0.
        temperature=options.temperature if options.temperature is not None else (0.0 if single else 0.7),
        seed=seed,
        mode=mode,
        token_weights=options.token_weights,
        profile=profile,
    )
    price = parse_price(options.price) if options.price else None
    patience = Patience(
        options.workers,
        options.per_minute,
        retries if options.retries is None else options.retries,
        seconds if options.seconds is None else options.seconds,
        options.max_cost,
    )
    servers = tuple((model, server) for model, server in judges if server is not None)
    return JudgePlan(settings, patience, options.base_url, options.cassette, price, servers)


def check_plan(plan: JudgePlan) -> None:
    """Find out before any work whether every judge can be asked; nothing is sent, and a replay needs none.

    Raises:
        UsageError: an unknown provider, no key, an address that does not go with it, a budget without a price.
        ExtraMissingError: the `judge` extra is not installed and the cassette does not make up for it.
    """
    if plan.cassette is not None and is_whole(plan.cassette):
        return
    for model in plan.settings.models:
        if plan.patience.max_cost is not None and connect.find_price(model, plan.address(model), plan.price) is None:
            raise UsageError(
                f"no price is known for {model}, so --judge-max-cost cannot be held",
                hint="state it with --judge-price IN/OUT",
            )
        connect.check(model, plan.address(model), plan.key(model))


@asynccontextmanager
async def open_judges(
    plan: JudgePlan, spent: Mapping[str, float] | None = None, cassette: Cassette | None = None
) -> AsyncIterator[tuple[dict[str, JudgeClient], Cassette | None]]:
    """Open every judge of a plan with one cassette between them.

    A cassette that is open already serves whoever asks several times with one; `spent` is what each judge has cost so far.

    Raises:
        UsageError: a judge has no name, key or price that the plan needs.
        ExtraMissingError: the `judge` extra is not installed and the cassette does not make up for it.
    """
    check_plan(plan)
    if cassette is None and plan.cassette is not None:
        cassette = Cassette(plan.cassette)
    async with AsyncExitStack() as stack:
        judges = {}
        for model in plan.settings.models:
            client: Any = None  # a whole cassette is replayed without the extra, a key or a network
            if cassette is None or not cassette.is_whole:
                opened = connect.connect(model, plan.address(model), plan.patience.seconds, plan.key(model))
                client = await stack.enter_async_context(opened)
            judges[model] = JudgeClient(
                model,
                client,
                plan.patience,
                cassette=cassette,
                price=connect.find_price(model, plan.address(model), plan.price),
                mode=plan.settings.mode,
                spent=(spent or {}).get(model, 0.0),
            )
        yield judges, cassette


# Judges at work: they are asked side by side, in a thread of their own, while the caller does something else.
#
# Each answer is handed over the moment it comes. The order in which answers come is in no report.


JudgeCall = JudgeQuestion | PairwiseQuestion
"""One call to one judge, and what is made of its answer."""
Keep = Callable[[Any, Judged, Key], None]
"""Takes a question's answer, with the question and its whole key."""


@dataclass(frozen=True, slots=True)
class JudgeWork:
    """Something to judge, with the key of its rows."""

    key: Key
    questions: Callable[[], Sequence[JudgeCall]]
    """Makes its questions when its turn comes: a long text is not held in many prompts at once."""


class PanelSession:
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

    def __exit__(self, *_: object) -> None:
        # Cancelled before it is waited for: a request under way may take as long as its deadline.
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
        # None marks the end of the work for the feeder.
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
            # The command line knows the plain error and not the group in which a task group wraps it.
            wrapped = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
            self._error = next((inner for inner in wrapped if isinstance(inner, MarkbookError)), error)
        finally:
            self._is_over = True
            # Also after an error: `__enter__` would wait for ever otherwise.
            self._running.set()

    async def _main(self) -> dict[str, AccountRecord]:
        self._loop = asyncio.get_running_loop()
        self._inbox = asyncio.Queue()
        self._task = asyncio.current_task()  # type: ignore[assignment]  # there is one: this runs in it
        self._running.set()
        async with open_judges(self._plan, self._spent, self._cassette) as (judges, cassette):
            self.is_complete = await self._ask(judges)
            # A cassette that the caller opened stays open for what it measures next.
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
                # Kept before the next question is taken: what is paid for is never lost to a crash in between.
                judged = await judges[question.model].judge(question.call, question.check)
                complete &= judged.is_lasting
                self._keep(question, judged, (*key, *question.key))
                self._tick()
                waiting.task_done()

        async with asyncio.TaskGroup() as group:
            servers = [group.create_task(serve()) for _ in range(self._plan.patience.concurrency * len(judges))]
            await feed()
            await waiting.join()  # every question that was fed is answered
            for server in servers:
                server.cancel()
        return complete
