"""Putting a process behind the walls, layer by layer, and reporting how far it got.

Theory of operation. The walls are set up once per worker and inherited by each fork, so that an attempt pays nothing for
them. In this order:

1. *Namespaces* (level A): user, mounts, network, IPC, host name, cgroups, and for the zygote processes. The new root holds
   the interpreter's libraries read-only and a small memory file system for files; the old root is unmounted, not hidden.
2. *Another user* (level A as root): one that nothing on the machine belongs to, different for each worker.
3. *Capabilities, privileges, dumps*: all capabilities go, `no_new_privs` forbids getting any back, and no other process may
   trace or read this one.
4. *Landlock* (`landlock`, A and B): which files may be reached, by path, whatever the mounts say.
5. *seccomp* (`seccomp`, A to C): which system calls may be made. A child gets a second, narrower filter after the fork:
   limits and signals for itself alone, no new program.
6. *Limits*: no core dumps, few descriptors, little locked memory.

The layers overlap on purpose: each holds even where another has a hole. Each step is done, not assumed (`step`): it either
works or its error goes into the report. A layer that the level needs and that fails raises `Unfit`; other failures lower
the level (`worker.reduce_level`). At the end a child tries to break out (`selftest`), and what it achieves makes the
level D. So the level in a report is what was tried, never what was asked for.

The order is forced: after seccomp nothing can be mounted, after capabilities no namespace can be entered.
"""

from __future__ import annotations

import os
import resource
import sys

from . import landlock, linux, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

    from ..wire_records import LayerRecord, WorkerSettings
else:
    import _signal as signal

SCRATCH = "/tmp"  # noqa: S108 - inside the sandbox's own root
_ELSEWHERE = "/elsewhere"
_SCRATCH_OPTIONS = "size=67108864,nr_inodes=4096,mode=1777"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random")
FIRST_UID = 2_000_000_000
"""Where the process is root: it becomes this user, plus its supervisor's number, whom nothing belongs to.

No two workers share one, be they of one run or of two: the kernel counts processes by their user."""
_NAMESPACES = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP

Report = list["LayerRecord"]


class Unfit(Exception):
    """A layer that the wanted level needs could not be put in place."""


def step(report: Report, name: str, action: Callable[[], object], *, needed: bool = False) -> bool:
    """Do one step and note in the report whether it worked.

    Raises:
        Unfit: it did not, and it is needed.
    """
    try:
        detail = action()
        report.append({"name": name, "ok": True, "detail": detail if isinstance(detail, str) else ""})
    except OSError as error:
        code = errno_name(error)
        report.append({"name": name, "ok": False, "detail": f"{code}: {error.strerror or error}"})
        if needed:
            raise Unfit(name) from None
        return False
    return True


def errno_name(error: OSError) -> str:
    """Return `EPERM` and the like."""
    import errno

    return errno.errorcode.get(error.errno or 0, str(error.errno))


def inside(path: str) -> str:
    """Return where a folder is found within the private root: what lies where the scratch folder is, is elsewhere."""
    return _ELSEWHERE + path if f"{path}/".startswith(SCRATCH + "/") else path


def readable(config: WorkerSettings) -> list[str]:
    """Return what a candidate may read: the interpreter's libraries and the installed packages."""
    prefix = config["prefix"]
    paths = [*config["path"], *config["stdlib"]]
    paths += [os.path.join(prefix, name) for name in ("lib", "lib64", "share/zoneinfo")]
    paths += ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/etc/ld.so.cache"]
    return find_tops(paths)


def find_tops(paths: list[str]) -> list[str]:
    """Return the paths that exist, without those within others."""
    tops: list[str] = []
    for path in sorted({os.path.realpath(path) for path in paths}):
        if os.path.exists(path) and not any(f"{path}/".startswith(f"{top}/") for top in tops):
            tops.append(path)
    return tops


def enter_namespaces(report: Report, config: WorkerSettings, *, processes: bool, stays: bool = False) -> bool:
    """Move into namespaces of our own with a root folder that holds only what is needed.

    With `processes` the next child is the first process of a process namespace; the caller forks it.

    Returns:
        Whether the caller is root and has to become a user of its own (`own_user`), because it said that it `stays`.

    Raises:
        Unfit: the kernel or its configuration does not allow it.
    """
    flags = _NAMESPACES | (linux.CLONE_NEWPID if processes else 0)
    root = os.getuid() == 0
    uid, gid = (os.getuid(), os.getgid())
    # root in a container may lack the right to this, and can still go the way of any other user
    if root and not step(report, "namespaces", lambda: linux.unshare(flags)):
        report.pop()
        root = False
    if not root:
        step(report, "namespaces", lambda: linux.unshare(flags | linux.CLONE_NEWUSER), needed=True)
        step(report, "user mapping", lambda: _map_user(uid, gid), needed=True)
    step(report, "private root", lambda: _new_root(config), needed=True)
    if root and not stays:
        own_user(report, config)
    return root and stays


def own_user(report: Report, config: WorkerSettings) -> None:
    """Become a user whom nothing belongs to.

    Raises:
        Unfit: that is not possible.
    """
    own = FIRST_UID + config["owner"]
    step(report, "own user", lambda: _become(own), needed=True)


def _map_user(uid: int, gid: int) -> None:
    # root is somebody else inside: a program that asks is not told that it is root
    # the kernel takes a map of groups from who has no privilege only once `setgroups` is denied
    maps = {"setgroups": "deny", "uid_map": f"{uid or 65534} {uid} 1", "gid_map": f"{gid or 65534} {gid} 1"}
    for name, text in maps.items():
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _new_root(config: WorkerSettings) -> None:
    top = config["scratch"]
    modules = [inside(os.path.realpath(path)) for path in sys.path]  # a link on the way is not there any more
    # or what is mounted from here on would also be mounted outside
    linux.mount("", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", top, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1048576,mode=755")
    # where `/lib` is a link into `/usr`, programs look for their loader by that name
    for name in config.get("links", ("lib", "lib64")):
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), f"{top}/{name}")
    for path in config["readable"]:
        _bind(path, top + inside(path))
    for path in _DEVICES:
        if os.path.exists(path):
            _bind(path, top + path, device=True)
    os.makedirs(top + SCRATCH, exist_ok=True)
    options = config.get("scratch_options", _SCRATCH_OPTIONS)
    linux.mount("tmpfs", top + SCRATCH, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, options)
    for name in config.get("empty", ()):
        os.makedirs(top + name, exist_ok=True)
    if "empty" in config:
        os.symlink("/proc/self/fd", f"{top}/dev/fd")
    # the old root is unmounted and not only hidden, so nothing can be bound any more; only then is this one read-only
    os.chdir(top)
    linux.pivot_root_here()
    linux.mount("", "/", flags=linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV)
    os.chdir(SCRATCH)
    sys.path[:] = modules
    # the finders remember folders by the paths that they had outside
    sys.path_importer_cache.clear()


def _bind(path: str, target: str, *, device: bool = False) -> None:
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    linux.mount(path, target, flags=linux.MS_BIND | linux.MS_REC)
    # a bind takes no flags of its own, so each is mounted once more; what the original mount forbids must stay forbidden,
    # or the kernel refuses
    locked = os.statvfs(target).f_flag
    keep = locked & (linux.MS_NOEXEC | linux.MS_NOATIME | linux.MS_NODIRATIME)
    # ST_RELATIME, which unlike the others is another number than its mount flag
    keep |= linux.MS_RELATIME if locked & 4096 else 0
    flags = linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID  # a device is written to all the same
    linux.mount("", target, flags=flags | keep | (0 if device else linux.MS_NODEV))


def confine(report: Report, config: WorkerSettings, *, makes_files: bool) -> None:
    """Give up every privilege for good: capabilities, files outside, system calls. Each failure is only noted.

    `makes_files`: in memory; who gives attempts what they read does.
    """
    private = config["level"] == "A"
    scratch = SCRATCH if private else config["scratch"]
    # after the change of user, at which the kernel forgets it
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    step(report, "capabilities", linux.drop_capabilities)
    # before the next two: from who has no capabilities the kernel takes neither rules nor filters without it
    step(report, "no new privileges", lambda: linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1))
    step(report, "not dumpable", lambda: linux.prctl(linux.PR_SET_DUMPABLE, 0))
    if config["level"] in "AB":
        allowed = [inside(path) if private else path for path in config["readable"]]
        step(report, "landlock", lambda: landlock.restrict(allowed, [scratch, *_DEVICES]))
    if config["level"] in "ABC":
        filter_ = seccomp.SyscallFilter(seccomp.worker_filter(private=private, makes_files=makes_files))
        step(report, "seccomp", filter_.install)
    step(report, "limits", _limit)


def _limit() -> None:
    for kind, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 256), (resource.RLIMIT_MEMLOCK, 1 << 16)):
        soft, hard = resource.getrlimit(kind)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        if soft != allowed or hard != allowed:
            resource.setrlimit(kind, (allowed, allowed))
