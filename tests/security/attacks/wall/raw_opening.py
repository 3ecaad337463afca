# Sends the opening reply itself, with names of Python's own for what it is not asked for.
# against: apart, several
# parts: raw
import os
say(["v", ["D", ["f", ["n", "max"], "func", ["n", "callable"], "P", ["n", "int"], "cls", ["n", "int"], "len", ["n", "callable"],
    "abs", ["n", "bool"], "sum", ["n", "callable"], "isinstance", ["n", "callable"], "range", ["n", "set"],
    "__builtins__", ["D", ["len", ["n", "callable"], "range", ["n", "set"]]], "__markbook_part__", ["n", "print"]]]])
