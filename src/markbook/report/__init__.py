"""Reports: pure functions of what a run's journal holds. A renderer lays out; it computes nothing of its own."""
