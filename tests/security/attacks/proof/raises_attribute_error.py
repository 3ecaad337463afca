# Raises an AttributeError, which `hasattr` and `getattr` swallow, wherever it is called.
# against: all
def f(*given, **named):
    raise AttributeError('area')


class P:
    area = __len__ = __getitem__ = __init__ = f
