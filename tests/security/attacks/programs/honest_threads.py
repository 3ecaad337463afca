# Computes in threads.
# separated: pass
# beside: pass
from concurrent.futures import ThreadPoolExecutor


def f(n):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda k: k * k, range(n)))
