# Returns a list a million deep.
# separated: fail
# beside: fail
def f(n):
    value = []
    for _ in range(10**6):
        value = [value]
    return value
