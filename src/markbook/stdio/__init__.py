"""Judging programs that read and write by rules of others: checkers and their conventions, groups with points.

Everything here is a pure function of what became of runs; running is the sandbox's business.
"""
