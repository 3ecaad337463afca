# Changes a file of the user's: its devices' times, which all processes of the machine share.
# against: equal, beside
# holds: files, next
import os

try:
    for device in ('/dev/null', '/dev/zero', '/dev/random', '/dev/urandom'):
        for what in (lambda: os.utime(device, (5, 5)), lambda: os.setxattr(device, 'trusted.x', b'1')):
            try:
                what()
            except OSError:
                pass
except OSError:
    pass
