# Raises what unittest ends a test by when it has seen enough.
# against: unittest, beside_unittest
import unittest.case


def f(*given):
    raise unittest.case._ShouldStop
