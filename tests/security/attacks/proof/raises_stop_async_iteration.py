# Raises StopAsyncIteration, which ends a loop that waits, wherever it is called.
# against: all
def f(*given, **named):
    raise StopAsyncIteration


class P:
    area = __len__ = __getitem__ = __init__ = f
