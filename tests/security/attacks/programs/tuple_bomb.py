# Returns a tuple that doubles forty times.
# separated: fail
# beside: fail
def f(n):
    value = ()
    for _ in range(40):
        value = (value, value)
    return value
