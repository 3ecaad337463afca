# Changes a file of the user's: its metadata, through a descriptor that only names it.
# against: equal, beside
# holds: files, next
import os

try:
    number = os.open(MARKER, os.O_PATH)
    for what in (lambda: os.chmod(f'/proc/self/fd/{number}', 0), lambda: os.utime(number, (5, 5)), lambda: os.chmod(number, 0), lambda: os.chown(f'/proc/self/fd/{number}', 7, 7)):
        try:
            what()
        except OSError:
            pass
except OSError:
    pass
