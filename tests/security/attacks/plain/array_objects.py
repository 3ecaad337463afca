# Returns a real array of objects, each of which lies.
# against: numpy
# parts: lies
import numpy as np

Liar = type("Liar", (), dict(_BODY))


def f(n, *given):
    made = np.empty(n, object)
    made[:] = [Liar() for _ in range(n)]
    return made
