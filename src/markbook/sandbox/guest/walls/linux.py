"""The kernel calls that Python has no function for, through ctypes. Linux on x86-64 and aarch64."""

from __future__ import annotations

import ctypes
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MACHINE = os.uname().machine if hasattr(os, "uname") else ""
SUPPORTED = sys.platform == "linux" and MACHINE in ("x86_64", "aarch64")

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_PRIVATE, MS_RELATIME = 1024, 2048, 4096, 16384, 1 << 18, 1 << 21
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_GET_SECCOMP, PR_SET_SECCOMP = 1, 4, 21, 22
PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 24, 36, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
SECCOMP_MODE_FILTER = 2

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


prctl_as_it_is: Any = _libc.prctl if SUPPORTED else None
"""The C function: it wants its arguments as C values and says by -1 that it failed."""


def raise_last_error(what: str) -> NoReturn:
    """Raise the error that the last call left.

    Raises:
        OSError: always.
    """
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")


def _check_result(result: int, what: str) -> int:
    return result if result >= 0 else raise_last_error(what)


def syscall(number: int, *arguments: object, what: str = "syscall") -> int:
    """Make a system call by number.

    Raises:
        OSError: it failed.
    """
    return _check_result(_libc.syscall(ctypes.c_long(number), *arguments), what)


def prctl(option: int, first: int = 0, second: object = 0, third: int = 0, what: str = "prctl") -> None:
    """Change a property of the calling process.

    Raises:
        OSError: the kernel refuses.
    """
    # `prctl` takes any number of arguments, so ctypes does not know that these are to have the width of a register
    first_word = ctypes.c_ulong(first)
    two = second if not isinstance(second, int) else ctypes.c_ulong(second)
    _check_result(_libc.prctl(option, first_word, two, ctypes.c_ulong(third), ctypes.c_ulong(0)), what)


def unshare(flags: int) -> None:
    """Leave the namespaces that the flags name.

    Raises:
        OSError: the kernel refuses.
    """
    _check_result(_libc.unshare(flags), f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount.

    Raises:
        OSError: the kernel refuses.
    """
    arguments = [text.encode() if text else None for text in (source, target, kind, data)]
    result = _libc.mount(arguments[0], arguments[1], arguments[2], ctypes.c_ulong(flags), arguments[3])
    _check_result(result, f"mount {kind or source} on {target}")


def pivot_root_here() -> None:
    """Make the working directory, which is a mount point, the root, and let go of the old one.

    Raises:
        OSError: the kernel refuses.
    """
    # the old root comes to lie over the new one at the same place, and is taken off from there (pivot_root(2))
    syscall(_PIVOT_ROOT[MACHINE], b".", b".", what="pivot_root")
    _check_result(_libc.umount2(b".", MNT_DETACH), "umount the old root")
    os.chdir("/")


def drop_capabilities() -> None:
    """Give up every capability, for this process and all that it starts.

    Raises:
        OSError: the kernel refuses.
    """
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # past the last one that this kernel knows, or it is not ours to drop: capset below decides
            break
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    # zeros for the effective, the permitted and the inheritable set, of 64 bits each
    syscall(_CAPSET[MACHINE], header, bytes(24), what="capset")
