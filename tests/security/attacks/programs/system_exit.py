# Raises SystemExit.
# separated: fail
# beside: fail
def f(n):
    import sys
    sys.exit(0)
