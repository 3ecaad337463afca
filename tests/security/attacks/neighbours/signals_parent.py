# Stops, continues and ends its parent.
# against: equal, beside
# holds: next
import os
import signal
for _number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGKILL):
    for _pid in (os.getppid(),):
        try:
            os.kill(_pid, _number)
        except OSError:
            pass
