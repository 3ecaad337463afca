"""Rewards for training: verdicts from the sandboxes that an exam uses, in a process or over HTTP."""
