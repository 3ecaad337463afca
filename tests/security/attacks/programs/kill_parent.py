# Kills its parent.
# separated: fail
# beside: fail
def f(n):
    import os
    os.kill(os.getppid(), 9)
    return []
