"""From the journal to rows and their summary: arithmetic alone, so a finished run can be scored again."""
