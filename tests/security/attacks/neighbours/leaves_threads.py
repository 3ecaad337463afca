# Leaves threads that go on writing to everything.
# against: equal, beside
# holds: next
# canonical: with
import os
import threading


def work():
    while True:
        for number in range(3, 20):
            try:
                os.write(number, b'\x07\0\0\0["v",1]')
            except OSError:
                pass


for _ in range(20):
    threading.Thread(target=work, daemon=True).start()
