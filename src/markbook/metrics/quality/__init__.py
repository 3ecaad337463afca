"""The documented quality scores of Python code: what makes each point, and its evidence."""
