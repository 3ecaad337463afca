"""What a worker puts round itself before anything else runs, and the test that it holds."""
