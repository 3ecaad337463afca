# Closes the scratch folder itself.
# against: equal
# holds: next
import os
os.chmod(SCRATCH, 0)
