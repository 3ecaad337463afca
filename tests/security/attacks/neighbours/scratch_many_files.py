# Leaves thousands of small files, links to everywhere and pipes with odd names.
# against: equal
# holds: next
import os


def f(*given):
    at = SCRATCH
    for k in range(3000):
        open(f'{at}/{k}', 'w').close()
    for place, name in enumerate((b'\n', b'\xff', b'-rf', b'a' * 255)):
        os.symlink('/', os.fsencode(at) + b'/l' + name[:250])
        os.mkfifo(os.fsencode(at) + b'/p' + name[:250])
    return answer([])
