"""What holds the suite together: which cases run at which level, and what each costs."""
