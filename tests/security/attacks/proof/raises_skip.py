# Raises what unittest takes for a test that is to be skipped.
# against: unittest, assertions, beside_unittest, beside_assertions, swallowed_all
import unittest


def f(*given):
    raise unittest.SkipTest("not today")
