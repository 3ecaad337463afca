# Leaves 1,500 folders within each other.
# against: equal
# holds: next
import os


def f(*given):
    os.chdir(SCRATCH)
    for k in range(1500):
        os.mkdir('d')
        os.chdir('d')
    return answer([])
