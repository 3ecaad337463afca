"""Which system calls a worker and a candidate may make, as filters for the kernel.

Refused are all that reach outside the process: the network, other processes, mounts, modules, keys, tracing, System V
objects, memory that no limit counts, programs. The numbers are the kernel's own and never change.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from . import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    "uselib": (134, -1), "_sysctl": (156, -1), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "setpriority": (141, 140), "setrlimit": (160, 164), "ioprio_set": (251, 30), "setpgid": (109, 154),
    "setsid": (112, 157), "inotify_add_watch": (254, 27), "inotify_init": (253, -1), "inotify_init1": (294, 26),
    "io_setup": (206, 0),
}  # fmt: skip
_OF_CACHES = {"preadv2": (327, 286), "mincore": (27, 232), "cachestat": (451, 451)}
"""What tells whether a page of a file is in memory, and so whether somebody has read it before: not there, as in older
kernels. Who reads by `preadv` makes do without."""
_HINTS = {"fadvise64": (221, 223), "readahead": (187, 213)}
"""What warms or cools pages of files for whoever comes after; it is advice, and said to have been taken."""
_HAND_OVER = {"sendmsg": (46, 211), "sendmmsg": (307, 269)}
"""What sends descriptors. The kernel counts those that are on their way by user: one who leaves many there keeps the
examiners of that user's other workers from sending any."""
_FORK = {"fork": (57, -1), "vfork": (58, -1)}
_CLONE, _CLONE3, _KILL, _TGKILL, _PRLIMIT, _FCNTL, _IOCTL, _PIDFD_OPEN = (
    (56, 220), (435, 435), (62, 129), (234, 131), (302, 261), (72, 25), (16, 29), (434, 434),
)  # fmt: skip
_FCHMODAT, _PRCTL, _MMAP, _STATX, _MADVISE = (268, 53), (157, 167), (9, 222), (332, 291), (28, 233)
_PRETENDED = {
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat2": (452, 452), "utime": (132, -1), "utimes": (235, -1),
    "futimesat": (261, -1), "utimensat": (280, 88),
}  # fmt: skip
"""Modes and times, where the candidate has the user's own rights: landlock does not govern them, and a filter sees no
path. They are said to have been changed, for `shutil.copy` and its like change them and would fail for a refusal."""
_ATTRIBUTES = {
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "setxattrat": (463, 463), "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}  # fmt: skip
_OWNERSHIP = {"chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54), **_ATTRIBUTES}
"""The rest of what landlock does not govern, refused: few programs try, and those expect it."""
_CLONE_THREAD = 0x00010000
_CLONE_NEW = 0x7E020080
"""The flags of clone that make namespaces: time, mount, cgroup, uts, ipc, user, pid, net."""
_RECLAIMING = (20, 21)
"""Advice about memory that takes pages of a file out of it, for everybody: MADV_COLD, MADV_PAGEOUT."""
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
_RLIMIT_STACK = 3
_SIGKILL = 9
_COMMANDS = (8, 10, 15, 1024, 1026, 1036, 1038)
"""fcntl commands that have the kernel send signals to others (F_SETOWN, F_SETSIG, F_SETOWN_EX, F_NOTIFY), hold others back
from a file (F_SETLEASE), or stay with a file (F_SET_RW_HINT, F_SET_FILE_RW_HINT)."""
_REQUESTS = (0x5412, 0x541C, 0x8901, 0x8902, 0x40086602, 0x40087602, 0x401C5820)
"""ioctl requests that type into a terminal, choose who is signalled, or set attributes of a file that need not be open
for writing: TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP, FS_IOC_SETFLAGS, FS_IOC_SETVERSION, FS_IOC_FSSETXATTR."""

_ALLOW, _KILL_PROCESS, _ERRNO, _NOTIFY = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
# BPF_LD of a word, BPF_JMP by JEQ, JGT and JSET with a constant, and BPF_RET
_LOAD, _EQUAL, _MORE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
# places in the kernel's `seccomp_data`; of an argument's 64 bits the lower half comes first
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_OWN = -1
"""Stands for the process's own number, which is put there when the filter is installed."""

Step = tuple[int, int, str, str] | str
"""An operation, its operand, and the labels to go on at if it holds and if not ("" is the next step); or a label."""

_ENDS: list[Step] = [
    "refuse", (_RETURN, _ERRNO | errno.EPERM, "", ""),
    "pretend", (_RETURN, _ERRNO, "", ""),
    "ask", (_RETURN, _NOTIFY, "", ""),
    "no more", (_RETURN, _ERRNO | errno.EAGAIN, "", ""),
    "no memory", (_RETURN, _ERRNO | errno.ENOMEM, "", ""),
    "not supported", (_RETURN, _ERRNO | errno.EOPNOTSUPP, "", ""),
    "unknown", (_RETURN, _ERRNO | errno.ENOSYS, "", ""),
    "foreign", (_RETURN, _KILL_PROCESS, "", ""),
    "allow", (_RETURN, _ALLOW, "", ""),
]  # fmt: skip


def _load(offset: int) -> Step:
    return (_LOAD, offset, "", "")


def _go(numbers: Iterable[tuple[int, int]], label: str) -> list[Step]:
    """Go to the label for these system calls."""
    column = 0 if linux.MACHINE == "x86_64" else 1
    return [(_EQUAL, numbers_pair[column], label, "") for numbers_pair in numbers if numbers_pair[column] >= 0]


def _common() -> tuple[list[Step], list[Step]]:
    """Return what every filter of the guest does, and the parts of it that look at an argument."""
    going = [
        *_go([_FCNTL], "fcntl"), *_go([_IOCTL], "ioctl"), *_go([_MADVISE], "madvise"),
        *_go(_OF_CACHES.values(), "unknown"), *_go(_HINTS.values(), "pretend"),
    ]  # fmt: skip
    below: list[Step] = []
    for label, argument_index, values in (
        ("fcntl", 1, _COMMANDS),
        ("ioctl", 1, _REQUESTS),
        ("madvise", 2, _RECLAIMING),
    ):
        below += [label, _load(_ARGUMENTS + 8 * argument_index), *((_EQUAL, value, "refuse", "") for value in values)]
        below.append((_RETURN, _ALLOW, "", ""))
    return going, below


def worker_filter(*, private: bool, makes_files: bool) -> bytes:
    """Return the filter that a process puts on itself once which forks attempts or examiners.

    Args:
        private: it sees no file that is the user's to change.
        makes_files: it makes files in memory, to hand them to attempts.
    """
    refused = [numbers for name, numbers in _REFUSED.items() if not (makes_files and name == "memfd_create")]
    # first of all: on another architecture the same numbers are other calls
    program = [_load(_ARCH), (_EQUAL, _ARCHITECTURE[linux.MACHINE], "", "foreign"), _load(_NUMBER)]
    # this also refuses the calls of x32, whose numbers begin at 1 << 30
    program += [(_MORE, _KNOWN, "unknown", ""), *_go(refused, "refuse")]
    common, below = _common()
    program += common
    if not private:
        program += [*_go(_PRETENDED.values(), "pretend"), *_go(_OWNERSHIP.values(), "refuse"), *_go([_PRCTL], "prctl")]
        # none may outlive the process that forked it
        below += ["prctl", _load(_ARGUMENTS), (_EQUAL, linux.PR_SET_PDEATHSIG, "", "allow")]
        below += [_load(_ARGUMENTS + 8), (_EQUAL, _SIGKILL, "allow", "refuse")]
    program += [(_RETURN, _ALLOW, "", ""), *below]
    return _assemble(program)[0]


_EXEC = ("execve",)


def program_filter(*, private: bool, scoped: bool) -> tuple[bytes, list[int]]:
    """Return the filter of a program that is started by exec, and the offsets at which it wants its own process id.

    It and all that it starts stay in the process group that is ended with it, so no new group and no session.

    Args:
        private: it sees no file that is the user's to change.
        scoped: something else keeps its signals from whoever is not below it.
    """
    program = [_load(_ARCH), (_EQUAL, _ARCHITECTURE[linux.MACHINE], "", "foreign"), _load(_NUMBER)]
    refused = [numbers for name, numbers in _REFUSED.items() if name not in _EXEC]
    common, below = _common()
    program += [(_MORE, _KNOWN, "unknown", ""), *_go([*refused, *_HAND_OVER.values()], "refuse"), *common]
    # a run would mark files for the next; `cp -p` makes do without
    program += _go(_ATTRIBUTES.values(), "not supported")
    program += _go([_STATX], "unknown")  # it says when a file was made, which nobody can set; all make do without
    program += [*_go([_PRLIMIT], "prlimit"), *_go([_PRCTL], "prctl")]
    # in a namespace of users of its own a process would have every right; told that clone3 is not there, whose flags lie
    # in memory, the C library falls back to clone
    program += [*_go([_CLONE3], "unknown"), *_go([_CLONE], "clone")]
    below += ["clone", _load(_ARGUMENTS), (_ANY_BIT, _CLONE_NEW, "refuse", "allow")]
    below += ["prlimit", _load(_ARGUMENTS), (_EQUAL, 0, "allow", "refuse")]
    # it is to end with whoever started it
    below += ["prctl", _load(_ARGUMENTS), (_EQUAL, linux.PR_SET_PDEATHSIG, "refuse", "allow")]
    if not scoped:
        program += _go([_KILL, _TGKILL], "own")
        below += ["own", _load(_ARGUMENTS), (_EQUAL, _OWN, "allow", "refuse")]
    if not private:
        pretended = [*_PRETENDED.values(), _FCHMODAT]
        program += [*_go(pretended, "pretend"), *_go(_OWNERSHIP.values(), "refuse")]
    program += [(_RETURN, _ALLOW, "", ""), *below]
    return _assemble(program)


def asking_filter() -> bytes:
    """Return the filter by which who starts a thread asks whoever listens."""
    # the architecture was looked at by the worker's own filter, which comes first and stays
    program = [_load(_NUMBER), *_go([_CLONE], "clone"), (_RETURN, _ALLOW, "", "")]
    return _assemble([*program, "clone", _load(_ARGUMENTS), (_ANY_BIT, _CLONE_THREAD, "ask", "allow")])[0]


def sharing_filter(*, asks: bool) -> bytes:
    """Return the filter by which who wants anonymous memory to share asks whoever listens, or gets none."""
    program = [_load(_NUMBER), *_go([_MMAP], "mmap"), (_RETURN, _ALLOW, "", ""), "mmap", _load(_ARGUMENTS + 24)]
    program += [
        (_ANY_BIT, _MAP_SHARED, "", "allow"),
        (_ANY_BIT, _MAP_ANONYMOUS, "ask" if asks else "no memory", "allow"),
    ]
    return _assemble(program)[0]


def child_filter(*, alone: bool, hands_over: bool = False) -> tuple[bytes, list[int]]:
    """Return the filter of one attempt or examiner, and the offsets at which it wants its own process id.

    It comes on top of the worker's, and is made anew by the kernel every time, at a price for each step of it:
    here is only what the process that forks must not refuse itself. One that is alone in a namespace with its zygote
    may send signals to whom it likes: only itself receives them. An examiner hands over descriptors.
    """
    # what starts a process is refused, threads are allowed. The flags of clone3 lie in memory, unseen: told that there is
    # none, the C library falls back to clone
    going = [*_go(_FORK.values(), "no more"), *_go([_CLONE3], "unknown"), *_go([_CLONE], "clone")]
    below: list[Step] = ["clone", _load(_ARGUMENTS), (_ANY_BIT, _CLONE_THREAD, "allow", "no more")]
    refused = [_PIDFD_OPEN, *(() if hands_over else _HAND_OVER.values())]
    program = [_load(_NUMBER), *going, *_go(refused, "refuse"), *_go([_PRLIMIT], "prlimit")]
    if not alone:
        program += [*_go([_KILL, _TGKILL], "own"), *_go([_FCHMODAT], "pretend")]  # with which the zygote opens folders
        below += ["own", _load(_ARGUMENTS), (_EQUAL, _OWN, "allow", "refuse")]
    # limits of one's own may be read, and only that of the stack may be changed: the limits are the zygote's, put in
    # place once for every attempt, as soft ones, for it cannot raise hard ones again
    below += [
        "prlimit", _load(_ARGUMENTS), (_EQUAL, 0, "", "refuse"),
        _load(_ARGUMENTS + 8), (_EQUAL, _RLIMIT_STACK, "allow", ""),
        # no new limit: both halves of the pointer are zero
        _load(_ARGUMENTS + 16), (_EQUAL, 0, "", "refuse"), _load(_ARGUMENTS + 20), (_EQUAL, 0, "allow", "refuse"),
    ]  # fmt: skip
    return _assemble([*program, (_RETURN, _ALLOW, "", ""), *below])


def _assemble(program: list[Step]) -> tuple[bytes, list[int]]:
    """Return the program as the kernel wants it, and the offsets of `_OWN` in it."""
    labels_used = {label for step in program if type(step) is not str for label in step[2:]}
    # only ends that something goes to, since each step has its price
    for label, end in zip(_ENDS[::2], _ENDS[1::2], strict=True):
        program = [*program, label, end] if label in labels_used else program
    places: dict[str, int] = {}
    steps: list[tuple[int, int, str, str]] = []
    for step in program:
        if isinstance(step, str):
            places[step] = len(steps)
        else:
            steps.append(step)
    code_bytes = bytearray()
    own = []
    for here, (code, operand, yes, no) in enumerate(steps, 1):
        if operand == _OWN:
            own.append(len(code_bytes) + 4)
        # the kernel counts from the next step, in one byte each: a program that is too long for that fails here
        jumps = [places[label] - here if label else 0 for label in (yes, no)]
        code_bytes += struct.pack("<HBBI", code, *jumps, operand & 0xFFFFFFFF)
    return bytes(code_bytes), own


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class SyscallFilter:
    """A filter ready to be installed with one call: that of an `option` to `prctl`, another one only to rehearse."""

    def __init__(self, code: bytes, own: Sequence[int] = (), option: int = linux.PR_SET_SECCOMP) -> None:
        self._buffer = ctypes.create_string_buffer(code, len(code))
        # these lie in the bytes that the kernel reads, so that after the fork only a number has to be put in
        self._own = [ctypes.c_uint32.from_buffer(self._buffer, offset) for offset in own]
        self.program: ctypes.Structure = _Program(len(code) // 8, ctypes.addressof(self._buffer))
        self._arguments = (
            ctypes.c_int(option),
            ctypes.c_ulong(linux.SECCOMP_MODE_FILTER),
            ctypes.byref(self.program),
            ctypes.c_ulong(0),
            ctypes.c_ulong(0),
        )
        self._call = linux.prctl_as_it_is

    def install(self, pid: int = 0) -> None:
        """Put the filter on the calling process, whose number this is, for good.

        Raises:
            OSError: the kernel refuses.
        """
        for slot in self._own:
            slot.value = pid
        if self._call(*self._arguments) < 0:
            linux.raise_last_error("seccomp")
