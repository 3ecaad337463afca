# Empties sys.modules.
# separated: fail
# beside: fail
import sys

sys.modules.clear()


def f(n):
    return []
