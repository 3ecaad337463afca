# Raises a class of its own named AssertionError.
# separated: fail
# beside: fail
def f(n):
    AssertionError = type('AssertionError', (Exception,), {'__str__': lambda self: 'passed'})
    raise AssertionError
