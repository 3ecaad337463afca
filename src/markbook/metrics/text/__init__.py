"""Marks that compare the words and letters of two texts."""
