"""What a test program is: how it is completed, whether it can fail, whether it is broken."""
