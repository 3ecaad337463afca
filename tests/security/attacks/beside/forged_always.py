# Has every test in its own process reported as passed.
# against: beside
# parts: forge
forge()
