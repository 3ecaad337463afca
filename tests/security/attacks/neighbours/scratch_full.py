# Fills the scratch folder.
# against: equal
# holds: next
import os


def f(*given):
    at = SCRATCH
    try:
        for k in range(8):
            with open(f'{at}/{k}', 'wb') as file:
                file.write(bytes(1 << 20) * 16)
    except OSError:
        pass
    return answer([])
