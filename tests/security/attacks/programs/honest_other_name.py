# Defines the one function under another name.
# separated: pass
# beside: pass
def squares(n):
    return [k * k for k in range(n)]
