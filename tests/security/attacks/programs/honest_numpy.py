# Computes with numpy and hands back a list.
# separated: pass
# beside: pass
try:
    import numpy
except ImportError:
    numpy = None


def f(n):
    if numpy is None:
        return [k * k for k in range(n)]
    return (numpy.arange(n) ** 2).tolist()
