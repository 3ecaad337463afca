# Changes a file of the user's: its mode.
# against: equal, beside
# holds: files, next
import os

try:
    os.chmod(MARKER, 0)
except OSError:
    pass
