# Raises GeneratorExit.
# separated: fail
# beside: fail
def f(n):
    raise GeneratorExit
