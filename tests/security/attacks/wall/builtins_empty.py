# Sends no names at all as Python's own.
# against: apart
# parts: frames
ask("__builtins__")
__builtins__ = {}
