# Changes a file of the user's: its name, by links and moves.
# against: equal, beside
# holds: files, next
import os

try:
    at = SCRATCH
    for what in (lambda: os.link(MARKER, at + '/l'), lambda: os.rename(MARKER, at + '/m'), lambda: os.unlink(MARKER), lambda: os.chmod(at + '/l', 0)):
        try:
            what()
        except OSError:
            pass
except OSError:
    pass
