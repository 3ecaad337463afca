# Writes outside its scratch folder.
# separated: fail
# beside: fail
def f(n):
    import pathlib
    pathlib.Path('/var/tmp/markbook-attack').write_text('here')
    return [k * k for k in range(n)]
