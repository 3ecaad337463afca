# Writes and reads a temporary file.
# separated: pass
# beside: pass
import tempfile


def f(n):
    with tempfile.TemporaryFile('w+') as file:
        file.write(' '.join(str(k * k) for k in range(n)))
        file.seek(0)
        return [int(word) for word in file.read().split()]
