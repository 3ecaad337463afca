# Leaves folders within each other that nobody may look into.
# against: equal
# holds: next
import os


def f(*given):
    at = SCRATCH
    made = []
    for k in range(20):
        at += '/d'
        os.mkdir(at)
        made.append(at)
    for path in reversed(made):
        os.chmod(path, 0)
    return answer([])
