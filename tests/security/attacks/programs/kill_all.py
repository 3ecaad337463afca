# Kills every process that it can.
# separated: fail
# beside: fail
def f(n):
    import os
    os.kill(-1, 9)
    return []
