"""A language model as a judge: what it is asked, what of its reply counts, and how far it can be trusted.

Scores come only from the structured reply, checked here; a judge that cannot answer is a missing value with its reason.
"""
