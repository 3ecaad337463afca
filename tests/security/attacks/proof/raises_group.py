# Raises a group of errors, and one whose notes, cause and context are liars.
# against: programs, raised, beside_check
def f(*given):
    if given and given[0] == 2:
        raise ExceptionGroup("many", [ValueError("negative"), KeyError(1)])
    error = TypeError("no")
    error.__cause__ = error
    raise error
