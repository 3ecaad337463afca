"""The first process of a worker: it starts the pristine examiner and the zygote, and ends them when its owner is gone.

Theory of operation. The host starts one supervisor per worker, as a fresh interpreter without the user's environment. The
supervisor forks twice:

- the *pristine examiner* (`examination.pristine`), which holds the host's socket and forks an examiner for each problem;
- the *zygote* (`zygote`), which forks a child for each attempt.

Each of the two puts itself behind the walls (`walls.isolation`) before it reads anything from the host, so that whatever
they fork is behind them too. The zygote then lets a child try what the walls forbid (`walls.selftest`). Its report goes
to the pristine examiner, which sends it to the host as the greeting: the host learns the level that was really reached.

What crosses: settings as JSON in the command line; jobs and answers between host and examiner by the host's socket;
requests for attempts between examiner and zygote by a channel of their own. Nothing crosses between supervisor and host but
the lifeline, a pipe whose end says that the owner is gone.

Why it is safe: the supervisor itself runs no test and no solution, reads no message of either, and is not dumpable. It only
waits. When one of its children or its owner ends, it kills the rest; the zygote leads a process group that no child can
leave. At level B, where no process namespace does that, it also grants threads, as the kernel would count those of the
user's other programs (`walls.sharing`). Its exit status says whether an examiner was ended by its own alarm.
"""

from __future__ import annotations

import _socket  # its better half would be in the memory of every attempt
import ctypes
import os
import resource
import select
import site
import stat
import sys

from . import wire
from .walls import isolation, linux, seccomp
from .walls.selftest import try_everything
from .walls.sharing import Granting, SharingClient
from .zygote import Zygote

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import NoReturn

    from .child import Guard
    from .wire_records import WorkerSettings
else:
    import _signal as signal

_EXAMINER_MEMORY, _EXAMINER_FILE = 4 << 30, 64 << 20
"""Bytes of address space of an examiner, for tests compute with what candidates return, and of one file of its own."""


def main() -> NoReturn:
    """Set up one worker as the JSON in the first argument says; never returns."""
    site.setcopyright()
    site.sethelper()
    site.setquit()  # what an interpreter with packages has among its builtins: many programs end with `exit()`
    config = _inherit_setup(wire.decode(sys.argv[1]))
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, config["control"])
    mine, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    # before the namespaces, since the examiner enters some of its own
    examiner = os.fork()
    if examiner == 0:
        theirs.close()
        os.close(config["lifeline"])
        _pristine(config, door, mine)
    door.close()
    mine.close()
    report: isolation.Report = []
    try:
        if config["level"] == "A":
            isolation.enter_namespaces(report, config, processes=True)
    except isolation.Unfit as error:
        theirs.send(wire.encode({"unfit": str(error), "layers": report}).encode())
        theirs.close()
        _watch(config, [examiner])
    near, far = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    zygote = os.fork()
    os.setpgid(zygote, zygote)  # both, whoever comes first: a group that no candidate can leave, so to be ended whole
    if zygote == 0:
        os.close(config["lifeline"])
        near.close()
        _zygote(config, theirs, far, report)
    theirs.close()
    far.close()
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    _watch(config, [examiner, zygote], None if config["level"] == "A" else Granting(near))


def _inherit_setup(config: WorkerSettings) -> WorkerSettings:
    """Set this process up as the examiner and the zygote will inherit it; return the settings with what it found."""
    sys.argv = [""]
    sys.path[:] = config["path"]
    config["owner"] = os.getpid()
    config["readable"] = isolation.readable(config)  # while all of it can be seen
    # Ctrl-C is meant for the owner, whose end closes the lifeline
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN if number != signal.SIGTERM else signal.SIG_DFL)
    if (processor := config.get("processor")) is not None:
        os.sched_setaffinity(0, [processor])
    os.chdir(config["scratch"])
    # files that libraries keep open, each with its path: libffi does with itself, for example
    config["files"] = []
    for name in os.listdir("/proc/self/fd") if linux.SUPPORTED else ():
        descriptor = int(name)
        try:
            is_file = descriptor > 2 and stat.S_ISREG(os.fstat(descriptor).st_mode)
            if is_file and descriptor not in (config["control"], config["lifeline"]):
                config["files"].append((descriptor, os.readlink(f"/proc/self/fd/{name}")))
        except OSError:
            continue  # that of the listing
    return config


def _pristine(config: WorkerSettings, door: _socket.socket, line: _socket.socket) -> NoReturn:
    # only here: whatever the zygote has in memory, every attempt pays for when it is forked
    from .examination.pristine import Pristine

    sys.dont_write_bytecode = True  # from here on: what tests import is not theirs to write beside
    report: isolation.Report = []
    folder = isolation.SCRATCH
    try:
        if config["level"] == "A":
            isolation.enter_namespaces(report, config, processes=False)
        else:  # attempts are not to see what tests write
            folder = config["scratch"] = config["tests_scratch"]
            os.mkdir(folder, stat.S_IRWXU)
            os.chdir(folder)
        if linux.SUPPORTED:
            isolation.confine(report, config, makes_files=True)
    except isolation.Unfit:
        pass  # the zygote met the same, and its report says so
    greeting = wire.read(line.recv(1 << 16))
    own = [{**layer, "name": f"examiner: {layer['name']}"} for layer in report if not layer["ok"]]
    wire.write(door, {"hello": True, **greeting, "layers": greeting["layers"] + own})
    if "unfit" in greeting:
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_AS, (_EXAMINER_MEMORY, _EXAMINER_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_EXAMINER_FILE, _EXAMINER_FILE))
    is_filtered = any(layer["name"] == "seccomp" and layer["ok"] for layer in report)
    guard = seccomp.SyscallFilter(*seccomp.child_filter(alone=False, hands_over=True)).install if is_filtered else None
    Pristine(door, line, folder, guard).serve()


def _zygote(
    config: WorkerSettings, line: _socket.socket, supervisor: _socket.socket, report: isolation.Report
) -> NoReturn:
    sys.dont_write_bytecode = True  # from here on: what candidates import is not theirs to write beside
    inside = config["level"] == "A"
    scratch = isolation.SCRATCH if inside else config["scratch"]
    guard: Guard | None = None
    rehearsed: Guard = _nothing
    limit: Callable[[int], None] | None = None
    if linux.SUPPORTED:
        isolation.confine(report, config, makes_files=False)
        if any(layer["name"] == "seccomp" and layer["ok"] for layer in report):
            program = seccomp.child_filter(alone=inside)
            guard = seccomp.SyscallFilter(*program).install
            if not inside:
                asking: list[SharingClient] = []
                isolation.step(report, "thread limit", lambda: asking.append(SharingClient(supervisor)))
                limit = asking[0].limit if asking else None
                guard = _Tied(guard, supervisor.fileno())
            rehearsed = seccomp.SyscallFilter(*program, option=linux.PR_GET_SECCOMP).install
            try_everything(report, guard, scratch)
    if type(guard) is not _Tied:  # which closes it in every child
        supervisor.close()
    files = [(number, isolation.inside(path) if inside else path) for number, path in config["files"]]
    server = Zygote(line, scratch, guard, rehearsed, limit, files, config["modules"], alone=inside)
    server.prepare()
    line.send(wire.encode({"layers": report}).encode())
    server.serve()


class _Tied:
    """A guard after which a process ends with the one that forked it: elsewhere the namespace sees to that."""

    def __init__(self, guard: Guard, supervisor: int) -> None:
        self._guard = guard
        self._supervisor = supervisor
        self._arguments = (ctypes.c_int(linux.PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGKILL))

    def __call__(self, pid: int) -> None:
        """Tie, then harden."""
        os.close(self._supervisor)
        linux.prctl_as_it_is(*self._arguments)
        self._guard(pid)


def _nothing(_pid: int) -> None:
    """Harden nothing."""


def _grant(poll: select.poll, granting: Granting) -> None:
    """Grant threads until something else is to be seen to."""
    listener = -1
    poll.register(granting.fileno(), select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if ready - {listener, granting.fileno()}:
            return
        if listener in ready:
            granting.answer()
        elif not granting.hear():
            poll.unregister(granting.fileno())
        elif listener != granting.listener:
            listener = granting.listener
            poll.register(listener, select.POLLIN)


def _watch(config: WorkerSettings, children: list[int], granting: Granting | None = None) -> NoReturn:
    """End all when one ends or the owner goes; exit with the number of the alarm if that has ended an examiner."""
    poll = select.poll()
    poll.register(config["lifeline"], select.POLLIN)
    for pid in children:
        # by a descriptor of the process itself, whose number cannot be another's by then
        poll.register(os.pidfd_open(pid), select.POLLIN)
    if granting is not None:
        _grant(poll, granting)
    else:
        poll.poll()
    os.kill(children[0], signal.SIGKILL)
    for pid in children[1:]:
        os.killpg(pid, signal.SIGKILL)
    # waited for, so that what they used is counted as their owner's, and those that lost their parent with them: examiners
    is_alarmed = False
    try:
        while True:
            _, status = os.waitpid(-1, 0)
            is_alarmed = is_alarmed or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM)
    except ChildProcessError:
        os._exit(signal.SIGVTALRM if is_alarmed else 0)
