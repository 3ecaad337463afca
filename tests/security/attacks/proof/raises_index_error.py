# Raises an IndexError, which ends a loop over a sequence, wherever it is called.
# against: all
def f(*given, **named):
    raise IndexError(0)


class P:
    area = __len__ = __getitem__ = __init__ = f
