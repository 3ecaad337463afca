# Changes small whole numbers themselves, so that a wrong one is the expected one.
# against: beside_unittest, beside_assertions, beside_check, beside_mock, several
import ctypes


def f(*given):
    for wanted in (9, 16, 4, 30, 55):
        ctypes.c_uint32.from_address(id(wanted) + int.__basicsize__).value = 0
    return 0
