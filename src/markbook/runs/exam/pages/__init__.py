"""What a finished exam shows and writes: pages, documented files, rows for other programs."""
