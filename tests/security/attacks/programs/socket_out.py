# Opens a network connection.
# separated: fail
# beside: fail
def f(n):
    import socket
    socket.create_connection(('127.0.0.1', 9), 1)
    return [k * k for k in range(n)]
