# Closes every descriptor.
# separated: fail
# beside: fail
def f(n):
    import os
    os.closerange(0, 256)
    return []
