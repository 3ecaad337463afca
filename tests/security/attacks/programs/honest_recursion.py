# Recurses deeply.
# separated: pass
# beside: pass
import sys

sys.setrecursionlimit(5000)


def g(k):
    return 0 if k == 0 else 1 + g(k - 1)


def f(n):
    g(3000)
    return [k * k for k in range(n)]
