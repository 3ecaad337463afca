"""What runs inside a worker: the supervisor, the examiner, the zygote and the forked children.

Standard library only and nothing of ours from outside this folder, so that it also runs under another interpreter
(`--python`), which need not have this package installed.
"""
