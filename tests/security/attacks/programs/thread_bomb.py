# Starts threads without end.
# separated: fail
# beside: fail
def f(n):
    import threading, time
    while True:
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
