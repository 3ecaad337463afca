# Raises GeneratorExit, which ends a generator without a word, wherever it is called.
# against: all
def f(*given, **named):
    raise GeneratorExit


class P:
    area = __len__ = __getitem__ = __init__ = f
