# Reads what is meant for its parent and writes what its parent would say.
# against: equal, beside, check
# holds: next
import os
import socket
for _number in range(3, 64):
    try:
        os.set_blocking(_number, False)
        os.write(_number, b'end')
        os.read(_number, 4096)
    except OSError:
        pass
for _number in range(3, 64):
    try:
        socket.socket(fileno=_number).send(b'x' * 100)
    except OSError:
        pass
