"""What passes between a test and a solution that runs in another process: values, and stand-ins for what stays there."""
