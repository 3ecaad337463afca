# Changes priority, processors, limits and process group of its parent.
# against: equal, beside
# holds: next
import os
import resource
_parent = os.getppid()
for _what in (lambda: os.setpriority(os.PRIO_PROCESS, _parent, 19), lambda: os.sched_setaffinity(_parent, {0}), lambda: resource.prlimit(_parent, resource.RLIMIT_NPROC, (0, 0)),
              lambda: resource.prlimit(_parent, resource.RLIMIT_FSIZE, (0, 0)), lambda: os.setpgid(_parent, os.getpid()), lambda: os.sched_setscheduler(_parent, os.SCHED_IDLE, os.sched_param(0))):
    try:
        _what()
    except OSError:
        pass
