# Changes a file of the user's: its metadata, by raw system calls with numbers of their own.
# against: equal, beside
# holds: files, next
import os

try:
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    name = MARKER.encode()
    libc.syscall(90, name, 0)
    libc.syscall(268, -100, name, 0)
    libc.syscall(452, -100, name, 0, 0)
    libc.syscall(92, name, 7, 7)
    libc.syscall(94, name, 7, 7)
    libc.syscall(260, -100, name, 7, 7, 0)
    libc.syscall(132, name, 0)
    libc.syscall(235, name, 0)
    libc.syscall(261, -100, name, 0)
    libc.syscall(280, -100, name, 0, 0)
    libc.syscall(188, name, b'user.x', b'1', 1, 0)
    libc.syscall(189, name, b'user.x', b'1', 1, 0)
except OSError:
    pass
