# Recurses for ever.
# separated: fail
# beside: fail
def f(n):
    return f(n)
