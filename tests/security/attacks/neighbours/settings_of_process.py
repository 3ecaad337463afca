# Changes what a process has only once: numbers' precision, the locale, codecs, callbacks of the collector, the recursion limit.
# against: equal, beside
# holds: next
import codecs
import decimal
import gc
import locale
import sys

codecs.register(lambda name: None)
codecs.register_error("strict", lambda error: ("", error.end))
decimal.getcontext().prec = 1
decimal.setcontext(decimal.Context(prec=1, Emax=1))
gc.callbacks.append(lambda phase, info: sys.exit(0))
sys.set_int_max_str_digits(640)
sys.setswitchinterval(100)
sys.setrecursionlimit(60)
try:
    locale.setlocale(locale.LC_ALL, "C")
except locale.Error:
    pass
