"""A local page over any number of run folders: list, filter, open one attempt, set two side by side. It only reads."""
