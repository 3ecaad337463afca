"""Blind labelling in a local page: who labels what, in which order, and a file of labels for each rater."""
