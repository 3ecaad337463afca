"""What a run of reviews looks like: its page, its Markdown, and the files that a run folder gets."""
