# Ends the process with success inside a test.
# separated: fail
# beside: fail
def f(n):
    import os
    os._exit(0)
