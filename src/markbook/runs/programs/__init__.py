"""Marking programs in any language: built, run test by test, judged, remembered, and why they failed."""
