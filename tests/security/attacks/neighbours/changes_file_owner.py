# Changes a file of the user's: its owner.
# against: equal, beside
# holds: files, next
import os

try:
    os.chown(MARKER, 12345, 12345)
except OSError:
    pass
