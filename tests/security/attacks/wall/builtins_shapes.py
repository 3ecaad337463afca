# Sends something else than a mapping as the test's own names: a module, a number, a list of pairs.
# against: all
# parts: frames
import builtins
ask("__builtins__", "__name__", "__loader__", "__spec__", "__build_class__", "__debug__", "__import__", "__annotations__")
__builtins__ = builtins
__import__ = __build_class__ = lambda *given, **named: answer
__debug__ = False
__annotations__ = [("range", 1)]
