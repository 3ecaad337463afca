# Returns a list that holds itself.
# separated: fail
# beside: fail
def f(n):
    value = []
    value.append(value)
    return value
