"""The reward server: verdicts over HTTP, from the sandboxes that an exam uses."""
