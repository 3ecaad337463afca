# Removes the scratch folder, or puts another thing in its place.
# against: equal
# holds: next
import os
_at = SCRATCH
for _what in (lambda: os.rename(_at, _at + 'x'), lambda: os.rmdir(_at), lambda: os.symlink('/', _at)):
    try:
        _what()
    except OSError:
        pass
