# Leaves files that say they are as large as a disk.
# against: equal
# holds: next
import os


def f(*given):
    at = SCRATCH
    for k in range(50):
        with open(f'{at}/{k}', 'wb') as file:
            try:
                file.truncate(1 << 25)
            except OSError:
                pass
    return answer([])
