"""Programs in any language: built, run test by test, compared or judged, remembered, and why they failed."""
