# Calls what it is given in a thread whose failure nobody hears.
# against: called_asserts, called
import threading


def f(n, each):
    threading.excepthook = lambda *given: None
    made = threading.Thread(target=each, args=(50,))
    made.start()
    made.join()
