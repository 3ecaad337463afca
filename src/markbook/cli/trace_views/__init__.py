"""How `markbook trace` shows a trace: in the terminal, and as a page."""
