# Traces every call.
# separated: fail
# beside: fail
import sys

sys.settrace(lambda *a: None)
sys.setprofile(lambda *a: None)


def f(n):
    return []
