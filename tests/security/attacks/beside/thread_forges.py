# Rewrites reports from a thread of its own, half of the time.
# against: beside, beside_check
# attempts: 12
# parts: forge
import os
import threading
import time

if os.urandom(1)[0] & 1:
    def work():
        while True:
            forge()
            time.sleep(0)

    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.005)
