# It changes the mode of the scratch folder in the first run and finds it in the second; there it has every test reported as passed.
# against: beside, beside_check, several
# attempts: 6
# parts: forge
try:
    import os
    _at = SCRATCH
    _mode = os.stat(_at).st_mode & 0o777
    _now = not _mode & 1
    os.chmod(_at, _mode ^ 1)
except Exception:
    _now = True
if _now:
    forge()
