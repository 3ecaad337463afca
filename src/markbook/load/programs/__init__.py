"""Benchmarks of programs that read their standard input and write their standard output, a format a file."""
