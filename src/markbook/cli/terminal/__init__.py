"""What the commands print while they run and when they have ended."""
