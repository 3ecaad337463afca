# Writes a passing frame to every descriptor.
# separated: fail
# beside: fail
def f(n):
    import os, struct
    text = b'{"k":"test","i":0,"r":{"p":true}}'
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, struct.pack('<I', len(text)) + text)
        except OSError:
            pass
    return []
