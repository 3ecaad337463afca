"""Landlock: which files a worker may reach, without needing any privilege."""

from __future__ import annotations

import ctypes
import os
import struct

from . import linux

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_EXECUTE = 1
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_MAKE_DEVICES = (1 << 6) | (1 << 11)
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE


def version() -> int:
    """Return the version of the kernel's landlock.

    Raises:
        OSError: it has none, or it is turned off.
    """
    return linux.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1), what="landlock")


def restrict(readable: list[str], writable: list[str]) -> str:
    """Confine this process and all that it starts; return the version used.

    Raises:
        OSError: the kernel has no landlock or refuses a rule.
    """
    abi = version()
    handled = (1 << 13) - 1
    handled |= _REFER if abi >= 2 else 0
    handled |= _TRUNCATE if abi >= 3 else 0
    handled |= _IOCTL_DEVICE if abi >= 5 else 0
    attributes = struct.pack("<QQQ", handled, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = linux.syscall(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0), what="landlock ruleset")
    try:
        for path in readable:
            _allow(rules, path, (_READ_FILE | _READ_DIR) & handled)
        for path in writable:
            _allow(rules, path, handled & ~_EXECUTE & ~_MAKE_DEVICES & ~_IOCTL_DEVICE)
        linux.syscall(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0), what="landlock restrict")
    finally:
        os.close(rules)
    return f"version {abi}"


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = struct.pack("<Qi", rights, descriptor)
        linux.syscall(
            _ADD, ctypes.c_int(rules), ctypes.c_int(1), rule, ctypes.c_uint32(0), what=f"landlock rule {path}"
        )
    finally:
        os.close(descriptor)
