"""Marks for code: CodeBLEU, and the chance that one of several attempts passes its tests."""
