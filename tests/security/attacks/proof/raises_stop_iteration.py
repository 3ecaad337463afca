# Raises StopIteration, which ends whatever loop it is called in, wherever it is called.
# against: all
def f(*given, **named):
    raise StopIteration(9)


class P:
    area = __len__ = __getitem__ = __init__ = f
