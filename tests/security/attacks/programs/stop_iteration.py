# Raises StopIteration.
# separated: fail
# beside: fail
def f(n):
    raise StopIteration([0, 1, 4, 9])
