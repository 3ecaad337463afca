# Never ends inside one call of the interpreter.
# separated: fail
# beside: fail
def f(n):
    import itertools
    for _ in itertools.repeat(0):
        pass
