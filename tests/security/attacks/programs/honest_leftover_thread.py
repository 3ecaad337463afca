# Leaves a thread behind.
# separated: pass
# beside: pass
import threading
import time


def f(n):
    threading.Thread(target=time.sleep, args=(0.2,), daemon=True).start()
    return [k * k for k in range(n)]
