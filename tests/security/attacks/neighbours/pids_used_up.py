# Starts and ends threads by the thousand, so that the numbers of processes run ahead.
# against: equal
# holds: next
import threading


def f(*given):
    for k in range(3000):
        made = threading.Thread(target=int)
        made.start()
        made.join()
    return answer([])
