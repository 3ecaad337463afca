# Leaves a very deep tree whose every folder is closed.
# against: equal
# holds: next
import os


def f(*given):
    os.chdir(SCRATCH)
    opened = []
    for k in range(1200):
        os.mkdir('d')
        opened.append(os.open('.', os.O_RDONLY)) if k < 30 else None
        os.chdir('d')
    for number in reversed(opened):
        os.chmod('d', 0, dir_fd=number)
    return answer([])
