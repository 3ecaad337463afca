# Changes a file of the user's: its times.
# against: equal, beside
# holds: files, next
import os

try:
    os.utime(MARKER, (5, 5))
except OSError:
    pass
