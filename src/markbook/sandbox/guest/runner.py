"""A worker that executes programs: compilers and what they make, or interpreters with a text, one attempt at a time."""

from __future__ import annotations

import _socket
import encodings.latin_1  # what crosses is decoded where no module can be found any more
import gc
import mmap
import os
import select
import stat
import struct
import sys

from . import execution, file_transfer, scratch, wire
from .walls import isolation, landlock, linux, seccomp
from .walls.selftest import try_everything

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn

    from .wire_records import WorkerSettings
else:
    import _signal as signal

_SCRATCH_OPTIONS = "size=536870912,nr_inodes=32768,mode=1777"
_GROUP = struct.Struct("<i")
_RUNNABLE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""How a file is opened that a compiler made: no link is followed, no pipe waited for."""


def main() -> NoReturn:
    """Set up one worker as the JSON in the first argument says; never returns."""
    config = wire.decode(sys.argv[1])
    sys.argv = [""]
    sys.dont_write_bytecode = True
    assert encodings.latin_1
    gc.enable()  # the start makes nothing that is garbage; what is served may
    config |= {
        "owner": os.getpid(),
        "readable": isolation.find_tops([*config["folders"], *config["stdlib"]]),
        "links": ("bin", "sbin", "lib", "lib32", "lib64"),
        "scratch_options": _SCRATCH_OPTIONS,
        "empty": ("/proc", "/var/tmp"),  # noqa: S108 - in a root of its own
    }
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, config["control"])
    for descriptor in (config["control"], config["lifeline"]):
        os.set_inheritable(descriptor, False)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    if config.get("processor") is not None:
        os.sched_setaffinity(0, [config["processor"]])
    os.chdir(config["scratch"])
    report: isolation.Report = []
    is_root = False
    try:
        if config["level"] == "A":
            is_root = isolation.enter_namespaces(report, config, processes=True, stays=True)
    except isolation.Unfit as error:
        wire.write(control, {"hello": True, "unfit": str(error), "layers": report})
        os._exit(0)
    group = mmap.mmap(-1, _GROUP.size)  # shared with the child, which writes there whom it has started
    runner = os.fork()
    if runner == 0:
        os.close(config["lifeline"])
        if config["level"] == "A":  # by the first process of the namespace, while it may
            isolation.step(report, "process list", _mount_proc)
        owner = is_root or os.getuid() == 0
        if owner and not _own_user(report, config):
            wire.write(control, {"hello": True, "unfit": "own user", "layers": report})
            os._exit(0)
        Runner(control, config, report, group, owner=owner or config["level"] == "A").serve()
    control.close()
    if is_root or os.getuid() == 0:
        _own_user([], config)
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    _watch(config["lifeline"], runner, group)


def _own_user(report: isolation.Report, config: WorkerSettings) -> bool:
    """Become a user of the worker's own: the kernel counts root's processes for nobody, and so would not limit them."""
    try:
        if config["level"] != "A":
            os.chown(config["scratch"], isolation.FIRST_UID + config["owner"], -1)
        isolation.own_user(report, config)
    except (OSError, isolation.Unfit):
        return False
    return True


def _watch(lifeline: int, runner: int, group: mmap.mmap) -> NoReturn:
    """End the worker and what it runs when its owner goes, or when it ends by itself."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(os.pidfd_open(runner), select.POLLIN)
    poll.poll()
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)
    (started,) = _GROUP.unpack(group[: _GROUP.size])
    try:
        if started > 0:  # of a process namespace of its own nobody is left, and the number means nothing here
            os.killpg(started, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        os._exit(0)


class Runner:
    """Answers requests: files, and the phases to execute with them."""

    def __init__(
        self,
        control: _socket.socket,
        config: WorkerSettings,
        report: isolation.Report,
        group: mmap.mmap,
        *,
        owner: bool,
    ) -> None:
        self._control = control
        self._group = group
        private = config["level"] == "A"
        self._private = private
        folder = isolation.SCRATCH if private else config["scratch"]
        self._place = execution.Place(folder, private=private, owner=owner)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        if linux.SUPPORTED:
            self._confine(report, config)
        wire.write(control, {"hello": True, "layers": report, "build": self._place.build, "work": self._place.work})

    def _confine(self, report: isolation.Report, config: WorkerSettings) -> None:
        """Give up what no program needs, and prepare the walls that each is put behind."""
        folders = self._place
        isolation.step(report, "capabilities", linux.drop_capabilities)
        isolation.step(report, "no new privileges", lambda: linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1))
        isolation.step(report, "not dumpable", lambda: linux.prctl(linux.PR_SET_DUMPABLE, 0))
        scoped = self._private
        if config["level"] in "AB":
            isolation.step(report, "landlock", lambda: self._rules(config))
            scoped = scoped or (bool(folders.rules) and landlock.version() >= landlock.SCOPES)
        if config["level"] in "ABC":
            isolation.step(report, "seccomp", lambda: self._filter(scoped=scoped))
        report.append({"name": "limits", "ok": True, "detail": ""})  # hard ones, set for each program
        folder = os.path.dirname(folders.work)
        try_everything(report, lambda _pid: folders.confine(builds=False), folder, programs=True)

    def _rules(self, config: WorkerSettings) -> str:
        folders = self._place
        tools = [isolation.inside(path) if self._private else path for path in config["readable"]]
        # what only root can see is not for the user that programs are
        common = [(path, landlock.RUN) for path in tools if os.access(path, os.R_OK)]
        common += [(path, landlock.WRITE) for path in ("/dev/null", "/dev/full", "/dev/urandom", "/dev/random")]
        common.append(("/dev/zero", landlock.READ))  # who may write to it can share memory by it that nobody counts
        common += [("/proc", landlock.READ)] if self._private else []
        building, abi = landlock.ruleset([*common, (folders.build, landlock.OWN), (folders.work, landlock.WRITE)])
        running, _ = landlock.ruleset([*common, (folders.build, landlock.RUN), (folders.work, landlock.WRITE)])
        folders.rules = {True: building, False: running}
        return f"version {abi}"

    def _filter(self, *, scoped: bool) -> None:
        code, own = seccomp.program_filter(private=self._private, scoped=scoped)
        self._place.filter = seccomp.SyscallFilter(code, own)
        seccomp.SyscallFilter(code, own, option=linux.PR_GET_SECCOMP).install()  # whether there is such a thing

    def serve(self) -> NoReturn:
        """Answer until the owner goes away."""
        stream = wire.Stream(self._control)
        while True:
            request = stream.next()
            if request is None:
                os._exit(0)
            wire.write(self._control, {"id": request["id"], "phases": self._attempt(request)})

    def _attempt(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        folders = self._place
        if not request["goes_on"]:
            scratch.empty(folders.build)
        file_transfer.put(folders.build, request["files"])
        phases: list[dict[str, Any]] = []
        was_building = True
        for record in request["phases"]:
            phase = execution.CommandSpec(record, folders)
            if was_building and not phase.builds:
                self._seal(request)
            was_building = phase.builds
            scratch.restore(os.path.dirname(folders.work))  # no run sees by it what came before
            file_transfer.put(folders.work, record["work"])
            got = self._execute_phase(phase, is_linked=record["linked"])
            if record["takes"]:
                got["files"] = file_transfer.collect_files(os.path.join(folders.work, record["takes"]))
            if record["fetches"]:
                got["files"] = file_transfer.fetch_files(
                    folders.build if phase.builds else folders.work, record["fetches"]
                )
            phases.append(got)
            scratch.empty(folders.work)
            # without what was to be built there is nothing to run
            if phase.builds and (got["exit"] != 0 or got["hit"]):
                break
        if not request["stays"]:
            scratch.empty(folders.build)
        return phases

    def _execute_phase(self, phase: execution.CommandSpec, *, is_linked: bool) -> dict[str, Any]:
        link = None
        if is_linked:
            wire.write(self._control, {"awaits": True})
            link = file_transfer.StreamRelay(self._control)
        run = execution.Execution(phase, self._place, self._note, link)
        try:
            return run.run()
        finally:
            self._note(0)
            if link is not None:
                link.close()

    def _note(self, pid: int) -> None:
        """Say whose group is to be ended with this worker."""
        self._group[: _GROUP.size] = _GROUP.pack(0 if self._private else pid)

    def _seal(self, request: dict[str, Any]) -> None:
        """Remove what was only needed to build, and let be run what was built."""
        for name in request["drop"]:
            try:
                os.unlink(os.path.join(self._place.build, name))
            except OSError:
                continue  # the compiler's own doing
        for name in request["programs"]:
            folder, last = os.path.split(os.path.join(self._place.build, name))
            try:
                names = os.listdir(folder) if last == "*" else [last]
            except OSError:
                continue  # a build has taken it away
            for file_name in names:
                try:
                    descriptor = os.open(os.path.join(folder, file_name), _RUNNABLE)
                except OSError:
                    continue  # there is none: starting it will say so
                try:
                    # a second name may be elsewhere; where modes are only said to change, it cannot be run without this
                    status = os.fstat(descriptor)
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                        os.fchmod(descriptor, 0o700)
                finally:
                    os.close(descriptor)


def _mount_proc() -> None:
    """Let programs see the processes of their own namespace, and nothing else of the kernel's."""
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC, "subset=pid")
