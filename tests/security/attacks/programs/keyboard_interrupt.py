# Raises KeyboardInterrupt.
# separated: fail
# beside: fail
def f(n):
    raise KeyboardInterrupt
