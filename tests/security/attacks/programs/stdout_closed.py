# Closes standard output.
# separated: fail
# beside: fail
import sys

sys.stdout.close()
sys.stdout = None


def f(n):
    return []
