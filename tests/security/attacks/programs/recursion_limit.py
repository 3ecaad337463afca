# Lowers the recursion limit.
# separated: fail
# beside: fail
import sys

sys.setrecursionlimit(20)


def f(n):
    return []
