# Changes a file of the user's: its size.
# against: equal, beside
# holds: files, next
import os

try:
    os.truncate(MARKER, 0)
except OSError:
    pass
