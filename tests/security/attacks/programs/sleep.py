# Sleeps for ever.
# separated: fail
# beside: fail
def f(n):
    import time
    time.sleep(1e6)
