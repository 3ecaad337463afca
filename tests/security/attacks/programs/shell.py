# Runs a shell command.
# separated: fail
# beside: fail
def f(n):
    import os
    assert os.system('true') == 0
    return [k * k for k in range(n)]
