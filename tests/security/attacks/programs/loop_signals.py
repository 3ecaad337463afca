# Ignores every signal and never ends.
# separated: fail
# beside: fail
def f(n):
    import signal
    for number in range(1, 64):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        pass
