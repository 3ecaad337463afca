"""The only conductors: each takes one kind of run from its inputs to its reports."""
