"""Tests with something wrong in them: where, by what, and what it proves that a solution passes or fails then."""
