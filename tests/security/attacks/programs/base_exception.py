# Raises an exception class of its own that is no Exception.
# separated: fail
# beside: fail
def f(n):
    class Out(BaseException):
        pass
    raise Out('passed')
