# Is wrapped by a cache.
# separated: pass
# beside: pass
import functools


@functools.lru_cache
def f(n):
    return [k * k for k in range(n)]
