"""From answers to numbers: metrics, scorers and what makes one number of many rows."""
