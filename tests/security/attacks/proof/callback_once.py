# Calls what it is given once, with something that passes, where it should do so for each.
# against: called, called_asserts
def f(n, each):
    each(0)
