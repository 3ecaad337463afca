# Changes a file of the user's: its extended attributes.
# against: equal, beside
# holds: files, next
import os

try:
    os.setxattr(MARKER, 'user.seen', b'1')
except OSError:
    pass
