# Ends the process with success while it is loaded.
# separated: fail
# beside: fail
import os
os._exit(0)
