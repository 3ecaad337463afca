# Allocates piece by piece.
# separated: fail
# beside: fail
def f(n):
    held = []
    while True:
        held.append(bytearray(1 << 20))
