"""Landlock: which files a worker may reach, without needing any privilege."""

from __future__ import annotations

import ctypes
import os
import struct

from . import linux

# system calls of this age have one number on x86-64 and aarch64
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_EXECUTE = 1
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_MAKE_DEVICES = (1 << 6) | (1 << 11)
SCOPES = 6
"""The version from which on a confined process can send signals to nobody outside."""
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE


def version() -> int:
    """Return the version of the kernel's landlock.

    Raises:
        OSError: it has none, or it is turned off.
    """
    return linux.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1), what="landlock")


READ = _READ_FILE | _READ_DIR
RUN = READ | _EXECUTE
WRITE = ((1 << 16) - 1) & ~(_EXECUTE | _MAKE_DEVICES | _IOCTL_DEVICE)
"""Everything but running what lies there and making devices."""
OWN = WRITE | _EXECUTE


def restrict(readable: list[str], writable: list[str]) -> str:
    """Confine this process and all that it starts; return the version used.

    Raises:
        OSError: the kernel has no landlock or refuses a rule.
    """
    rules, abi = ruleset([*((path, READ) for path in readable), *((path, WRITE) for path in writable)])
    try:
        enter(rules)
    finally:
        os.close(rules)
    return f"version {abi}"


def ruleset(allowed: list[tuple[str, int]]) -> tuple[int, int]:
    """Return a descriptor of rules that allow so much below these paths and nothing elsewhere, and the version used.

    Raises:
        OSError: the kernel has no landlock or refuses a rule.
    """
    abi = version()
    # what a kernel does not know it refuses, so each version is asked for no more than it has
    handled = (1 << 13) - 1
    handled |= _REFER if abi >= 2 else 0
    handled |= _TRUNCATE if abi >= 3 else 0
    handled |= _IOCTL_DEVICE if abi >= 5 else 0
    # no rule ever allows any of the last two: TCP in both directions, abstract sockets and signals outwards are refused
    attributes = struct.pack("<QQQ", handled, 3 if abi >= 4 else 0, 3 if abi >= SCOPES else 0)
    # the kernel's structure grew with its versions: files, then network, then scopes
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = linux.syscall(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0), what="landlock ruleset")
    try:
        for path, rights in allowed:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                # the kernel refuses a rule for a file that speaks of folders
                granted = rights & handled & (-1 if os.path.isdir(path) else _FILE_RIGHTS)
                # packed in the kernel, too: twelve bytes, without the gap that C would leave at the end
                rule = struct.pack("<Qi", granted, descriptor)
                arguments = ctypes.c_int(rules), ctypes.c_int(1), rule, ctypes.c_uint32(0)
                linux.syscall(_ADD, *arguments, what=f"landlock rule {path}")
            finally:
                os.close(descriptor)
    except OSError:
        os.close(rules)
        raise
    return rules, abi


def enter(rules: int) -> None:
    """Put the calling process, and all that it starts, under these rules.

    Raises:
        OSError: the kernel refuses.
    """
    linux.syscall(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0), what="landlock restrict")
