# Changes a file of the user's: its content.
# against: equal, beside
# holds: files, next
import os

try:
    open(MARKER, 'a').write('x')
except OSError:
    pass
