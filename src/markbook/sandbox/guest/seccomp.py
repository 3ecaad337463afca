"""Which system calls a worker and a candidate may make, as filters for the kernel.

Refused are all that reach outside the process: the network, other processes, mounts, modules, keys, tracing, System V
objects, memory that no limit counts, programs. The numbers are the kernel's own and never change.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Sequence

from . import linux

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_KNOWN = 470
"""System calls numbered above this are newer than this list and refused as not there."""

# name: (x86-64, aarch64); -1 where the architecture has none
_REFUSED = {
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "bind": (49, 200), "listen": (50, 201),
    "accept4": (288, 242), "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "quotactl": (179, 60), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266), "iopl": (172, -1), "ioperm": (173, -1),
    "modify_ldt": (154, -1), "personality": (135, 92), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "fanotify_init": (300, 262), "sync": (162, 81),
    "syncfs": (306, 267), "vhangup": (153, 58), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "mbind": (237, 235), "set_mempolicy": (238, 237), "lookup_dcookie": (212, 18), "ustat": (136, -1),
    "uselib": (134, -1), "_sysctl": (156, -1),
}  # fmt: skip
_ALONE_REFUSED = {
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434), "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "setpriority": (141, 140), "setrlimit": (160, 164), "ioprio_set": (251, 30), "setpgid": (109, 154), "setsid": (112, 157),
}  # fmt: skip
_FORK = {"fork": (57, -1), "vfork": (58, -1)}
_CLONE, _CLONE3, _KILL, _TGKILL, _PRLIMIT, _FCNTL, _IOCTL = (
    (56, 220), (435, 435), (62, 129), (234, 131), (302, 261), (72, 25), (16, 29),
)  # fmt: skip
_CLONE_THREAD = 0x00010000
_RLIMIT_STACK = 3
_OWNER_COMMANDS = (8, 10, 15)
"""fcntl commands that have the kernel send signals to others: F_SETOWN, F_SETSIG, F_SETOWN_EX."""
_TERMINAL_REQUESTS = (0x5412, 0x541C, 0x8901, 0x8902)
"""ioctl requests that type into a terminal or choose who is signalled: TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP."""

_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_MORE, _JUMP_SET, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

Instruction = tuple[int, int, int, int]


def _column() -> int:
    return 0 if linux.MACHINE == "x86_64" else 1


def _refuse(number: int, code: int) -> list[Instruction]:
    return [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | code)]


def _head() -> list[Instruction]:
    return [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQUAL, 1, 0, _ARCHITECTURE[linux.MACHINE]),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]


def _when(number: int, body: list[Instruction]) -> list[Instruction]:
    """Run the body, which must end in returns, for this system call only."""
    return [(_JUMP_EQUAL, 0, len(body), number), *body]


def _first_argument_is(value: int) -> list[Instruction]:
    return [
        (_LOAD, 0, 0, _ARGUMENTS),
        (_JUMP_EQUAL, 1, 0, value),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _own_stack_limit_only() -> list[Instruction]:
    """For `prlimit64`: limits of one's own may be read, and only that of the stack may be changed.

    The limits are the zygote's, put in place once for every attempt: as soft ones, for it cannot raise hard ones again.
    """
    return [
        (_LOAD, 0, 0, _ARGUMENTS),
        (_JUMP_EQUAL, 0, 6, 0),
        (_LOAD, 0, 0, _ARGUMENTS + 8),
        (_JUMP_EQUAL, 5, 0, _RLIMIT_STACK),
        (_LOAD, 0, 0, _ARGUMENTS + 16),
        (_JUMP_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, _ARGUMENTS + 20),
        (_JUMP_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _second_argument_not(values: tuple[int, ...]) -> list[Instruction]:
    checks = [part for value in values for part in _refuse(value, errno.EPERM)]
    return [(_LOAD, 0, 0, _ARGUMENTS + 8), *checks, (_RETURN, 0, 0, _ALLOW)]


def _no_processes() -> list[Instruction]:
    column = _column()
    made = [
        part for numbers in _FORK.values() if numbers[column] >= 0 for part in _refuse(numbers[column], errno.EAGAIN)
    ]
    made += _refuse(_CLONE3[column], errno.ENOSYS)  # its flags lie in memory, unseen: the C library falls back to clone
    only_threads = [
        (_LOAD, 0, 0, _ARGUMENTS),
        (_JUMP_SET, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _ERRNO | errno.EAGAIN),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return made + _when(_CLONE[column], only_threads)


def worker_filter(*, may_fork: bool) -> bytes:
    """Return the filter that a worker puts on itself once."""
    column = _column()
    program = _head()
    program += [(_JUMP_MORE, 0, 1, _KNOWN), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for numbers in _REFUSED.values():
        if numbers[column] >= 0:
            program += _refuse(numbers[column], errno.EPERM)
    program += _when(_FCNTL[column], _second_argument_not(_OWNER_COMMANDS))
    program += _when(_IOCTL[column], _second_argument_not(_TERMINAL_REQUESTS))
    if not may_fork:
        program += _no_processes()
    return _assemble([*program, (_RETURN, 0, 0, _ALLOW)])


def child_filter(*, alone: bool) -> tuple[bytes, list[int]]:
    """Return the filter of one attempt, and the offsets at which it wants the attempt's own process id.

    One that is alone in a namespace with its zygote may send signals to whom it likes: only itself receives them.
    """
    column = _column()
    program = _head() + _no_processes()
    for numbers in _ALONE_REFUSED.values():
        if numbers[column] >= 0:
            program += _refuse(numbers[column], errno.EPERM)
    program += _when(_PRLIMIT[column], _own_stack_limit_only())
    own = []
    for numbers in () if alone else (_KILL, _TGKILL):
        own.append(8 * (len(program) + 2) + 4)
        program += _when(numbers[column], _first_argument_is(0))
    return _assemble([*program, (_RETURN, 0, 0, _ALLOW)]), own


def _assemble(program: list[Instruction]) -> bytes:
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Filter:
    """A filter ready to be installed with one call."""

    def __init__(self, code: bytes, own: Sequence[int] = ()) -> None:
        self._buffer = ctypes.create_string_buffer(code, len(code))
        self._own = [ctypes.c_uint32.from_buffer(self._buffer, offset) for offset in own]
        self._program = _Program(len(code) // 8, ctypes.addressof(self._buffer))
        self._arguments = (
            ctypes.c_int(linux.PR_SET_SECCOMP),
            ctypes.c_ulong(linux.SECCOMP_MODE_FILTER),
            ctypes.byref(self._program),
            ctypes.c_ulong(0),
            ctypes.c_ulong(0),
        )
        self._call = linux.prctl_as_it_is

    def install(self) -> None:
        """Put the filter on the calling process, for good.

        Raises:
            OSError: the kernel refuses.
        """
        if self._call(*self._arguments) < 0:
            linux.refused("seccomp")

    def install_as(self, pid: int) -> None:
        """Put the filter on the calling process, whose number this is.

        Raises:
            OSError: the kernel refuses.
        """
        for place in self._own:
            place.value = pid
        self.install()
