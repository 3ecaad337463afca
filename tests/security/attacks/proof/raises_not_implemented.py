# Raises NotImplementedError, which some take for a test to be left out, wherever it is called.
# against: all
def f(*given, **named):
    raise NotImplementedError


class P:
    area = __len__ = __getitem__ = __init__ = f
