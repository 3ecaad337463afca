# Answers the first calls and raises from the second on.
# against: swallowed, swallowed_all, suppressed, raises, tried, cases, stepped, map_all
_calls = [0]


def f(n):
    _calls[0] += 1
    if _calls[0] > 1:
        raise (TypeError if n != -1 else ValueError)("negative")
    raise KeyError
