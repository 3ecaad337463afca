"""What a finished run of tasks shows and writes."""
