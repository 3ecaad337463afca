"""What runs inside a worker: the supervisor, the examiner, the zygote and the forked children.

Standard library only and nothing of ours from outside this folder, so that it also runs under another interpreter
(`--python`), which need not have this package installed.

What the supervisor imports, directly or not, is in the memory of every attempt and is paid for with every fork: a page
more in fifteen costs a hundredth. So those modules do without `typing`, `json`, `re`, `enum` and the like, and take the
C half of a module where its other half is not needed.
"""
