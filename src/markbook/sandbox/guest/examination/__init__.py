"""What the examiner alone loads: tests read and compiled, how each is run, and whether its pass is believed."""
