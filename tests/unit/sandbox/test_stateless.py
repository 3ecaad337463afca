"""Which programs leave nothing behind in their process: every way to do so that is known, and the programs that people write."""

import builtins
import importlib
import warnings

import pytest

from markbook.sandbox.guest.examination import stateless
from markbook.sandbox.guest.examination.stateless import leaves_nothing

PLAIN = {
    "lines": "import sys\nn = int(input())\nfor line in sys.stdin:\n    print(line.strip(), file=sys.stderr)\nsys.exit(0)",
    "fast": "import sys\ninput = sys.stdin.buffer.readline\nprint = sys.stdout.write\nif __name__ == '__main__':\n    print(input().decode())",
    "from": "from sys import stdin, stdout, setrecursionlimit\nsetrecursionlimit(10**6)\nstdout.write(stdin.read())",
    "open": "data = open(0).read().split()\nexit()",
    "bytes": "import io, sys\ninput = io.BytesIO(sys.stdin.buffer.read()).readline",
    "streams": "import sys\nimport io\nsys.stdin = io.StringIO(sys.stdin.read())\nsys.stdout = io.StringIO()",
    "star": "from math import *\nfrom collections import *\ne = 1\nd = defaultdict(lambda: deque())\nprint(gcd(4, 6), Counter('abc'))",
    "tools": "from functools import lru_cache, reduce, cmp_to_key\nimport heapq, bisect as b\nfrom itertools import accumulate\n"
    "@lru_cache(maxsize=None)\ndef f(n):\n    return n\nheapq.heappush([], b.bisect_left([1], 1))\nreduce(max, [1])",
    "class": "class Node:\n    __slots__ = ('left', '_size')\n    def __init__(self, left=None):\n        self.left = left\n"
    "        self._size = 0\n    def __lt__(self, other):\n        return self._size < other._size\n"
    "class Leaf(Node):\n    def __init__(self):\n        super().__init__()\nroot = Node(Leaf())",
    "typed": "from typing import List, Optional\nimport typing\ndef f(a: List[int], b: Optional['str'] = None) -> typing.Dict[str, int]:\n    return {}",
    "caught": "try:\n    while True:\n        print(input())\nexcept (EOFError, ValueError) as error:\n    pass",
    "generator": "def f(n):\n    yield n\nprint(*f(3), f'{len(\"ab\"):>{3}}', '{} {:.2f}'.format(1, 2.5), '%s' % 1)",
    "nested": "def main():\n    import sys\n    import ast as _ast\n    print(repr(_ast.literal_eval(sys.stdin.read())))\nmain()",
    "digits": "import sys\nsys.set_int_max_str_digits(0)\nprint(10 ** 5000, sys.maxsize)",
    "own error": "class E(ValueError):\n    pass\ntry:\n    raise E\nexcept (E, KeyError):\n    pass",
    "held": "from collections import *\nfrom re import *\nA = list(map(Counter, input()))\nd = defaultdict(Counter)",
    "copied": "import copy\nprint(copy.deepcopy([1]), copy.copy({}))\nread = iter(open(0).read().split()).__next__",
    "prelude": "\n".join(f"from {name} import *" for name in ("string", "re", "collections", "heapq", "bisect", "copy", "math",
    "itertools", "functools", "operator", "io", "sys", "builtins", "typing")) + "\nimport sys; sys.setrecursionlimit(50000)\n"
    "class Solution:\n    def __init__(self, n):\n        self.n = n\n    def f(self, a: List[int]) -> Optional[int]:\n"
    "        return Counter(a)\nprint(Solution(stdin.readline()).f([1]))",
    "patterns": "import re\nprint(re.findall(r'\\d+', input()), re.compile('a').sub('b', 'a'))",
}  # fmt: skip
KEEPING = {
    "module attribute": "import math\nmath.seen = 1",
    "module deleted": "import math\ndel math.pi",
    "module as a value": "import math\nm = math\nm.seen = 1",
    "module as a default": "import math\ndef f(m=math):\n    m.seen = 1",
    "module in a class": "class A:\n    import math\nA.math.seen = 1",
    "module in a method": "class A:\n    def f(self):\n        import math\n        return 1",
    "module named twice": "import math\nimport heapq as math",
    "other module": "import os",
    "random": "import random",
    "a part of a module": "import os.path",
    "future": "from __future__ import annotations\nannotations.seen = 1",
    "itself": "import __main__",
    "decimal": "from decimal import getcontext",
    "time": "import time\ntime.process_time()",
    "unlisted": "import sys\nsys.modules",
    "unlisted by star": "from sys import *\nmodules['x'] = 1",
    "class of a library": "from collections import Counter\nCounter.seen = 1",
    "its alias": "from collections import Counter\nC = Counter\nC.seen = 1",
    "class below it": "from collections import Counter\nclass A(Counter):\n    pass\nA.mro()[1].seen = 1",
    "class by its object": "from collections import Counter\ntype(Counter()).seen = 1",
    "class by an attribute": "from collections import Counter\nCounter().__class__.seen = 1",
    "class in a list": "import collections\n[collections.Counter][0].seen = 1",
    "class in a dictionary": "from collections import Counter, defaultdict\nd = defaultdict(Counter)\nd.default_factory.seen = 1",
    "unlisted by another star": "from heapq import *\nmerge([1], [2])",
    "list of deepcopy": "from copy import deepcopy\nclass M:\n    def get(self, key, nil):\n        nil.append(1)\ndeepcopy([], M())",
    "list of deepcopy by a tuple": "import copy, collections\ncopy.deepcopy([], memo=collections.namedtuple('M', 'get')(print))",
    "list of deepcopy by a star": "import copy\ncopy.deepcopy(*[[], {}])",
    "defaults of a tuple that stays": "from functools import cache\ncache(print).cache_info()._field_defaults['seen'] = 1",
    "class of flags as a module": "from re import *\ndef f():\n    import sys as RegexFlag\nRegexFlag.stdin = 1",
    "function of the child's": "import sys\nsys.setrecursionlimit.seen = 1",
    "members of a flag": "from re import *\nA._value2member_map_[1] = 2",
    "number kept by a flag": "import re\nclass N(int):\n    def __hash__(self):\n        return 1\nre.compile('a', N(0))",
    "one name, two things by star": "def f():\n    global add\n    from collections import Counter as add\nfrom operator import *\nadd.seen = 1",
    "one name, two things": "from operator import *\ndef f():\n    from collections import Counter as add\n    add.seen = 1",
    "function of a library": "import heapq\nheapq.nlargest.seen = 1",
    "flags": "import re\nre.I.seen = 1",
    "cached types": "from typing import List\nA = List[int]\nA._name = 'seen'",
    "types with own keys": "from typing import List\nclass K:\n    pass\nk = K()\ndef f(a: List[k]):\n    pass",
    "types renamed": "from typing import List\nclass K:\n    pass\ndef f(int):\n    class A:\n        a: List[int]\nf(K())",
    "types as arguments": "from typing import List, Tuple\ndef f(Tuple):\n    class A:\n        a: List[Tuple]",
    "intern": "import sys\nsys.intern('seen')",
    "reference counts": "import sys\nsys.getrefcount(None)",
    "addresses": "print(id([]))",
    "built-in by alias": "def f():\n    from math import sqrt as eval\neval('1')",
    "builtins": "__builtins__.seen = 1",
    "builtins by alias": "import math as __builtins__",
    "import builtins": "import builtins",
    "exit": "exit.seen = 1",
    "help": "help.seen = 1",
    "names as text": "getattr(print, '__self__').seen = 1",
    "set by text": "setattr(print, 'x', 1)",
    "exec": "exec('x = 1')",
    "eval": "print(eval(input()))",
    "compile": "compile('1', '', 'eval')",
    "import by text": "__import__('math').seen = 1",
    "globals": "globals()['__builtins__']",
    "vars": "vars()",
    "attribute by template": "'{0.__class__}'.format(1)",
    "item by template": "'{0[a]}'.format({})",
    "nested template": "'{:{0.x}}'.format(1)",
    "template from elsewhere": "t = '{}'\nt.format(1)",
    "template as a function": "f = '{}'.format\nf(1)",
    "template of str": "str.format('{0.__class__}', 1)",
    "template of a mapping": "'{a}'.format_map({})",
    "attrgetter": "from operator import attrgetter",
    "file": "open('x', 'w')",
    "descriptor": "open(1)",
    "descriptor for writing": "open(0, 'w')",
    "opener": "open(0, opener=print)",
    "open as a value": "f = open\nf(3)",
    "bool as a descriptor": "open(False)",
    "frame": "def g():\n    yield\ng().gi_frame.f_back",
    "traceback": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__",
    "traceback by name": "x = 1\nx.tb_frame",
    "object of an error": "try:\n    input().x\nexcept AttributeError as e:\n    print(e.obj)",
    "error written to": "try:\n    input()\nexcept MemoryError as e:\n    e.seen = 1",
    "arguments of an error": "try:\n    input()\nexcept MemoryError as e:\n    e.__init__(1)",
    "arguments by super": "try:\n    input()\nexcept MemoryError as e:\n    super(MemoryError, e).__init__(1)",
    "arguments by another super": "def super():\n    return e\nsuper().__init__(1)",
    "error as a module": "def f():\n    import sys\ntry:\n    f()\nexcept MemoryError as sys:\n    sys.stdin = 1",
    "notes of an error": "try:\n    input()\nexcept MemoryError as e:\n    e.add_note('seen')",
    "class of a group of errors": "ExceptionGroup.seen = 1",
    "attributes by slots": "import copy\nclass S(str):\n    pass\nclass A:\n    pass\nA.__slots__ = [S('x')]\ncopy.copy(A())",
    "attributes by a list of slots": "L = []\nclass A:\n    __slots__ = L\nL.append('__reduce_ex__')",
    "special slots": "class A:\n    __slots__ = ('__reduce_ex__',)",
    "slots read": "class A:\n    __slots__ = ['x']\n    slots = __slots__",
    "texts that are known": "from collections import namedtuple\ns = input() + '1'\nnamedtuple('P', [s])._fields[0] is s",
    "hash of an object": "print(object().__hash__())",
    "depth by any error": "try:\n    b''.decode(input())\nexcept:\n    pass",
    "depth by a kind of error": "try:\n    b''.decode(input())\nexcept (KeyError, Exception):\n    pass",
    "depth by another name": "E = RuntimeError\ntry:\n    b''.decode(input())\nexcept E:\n    pass",
    "depth by a class that is replaced": "def f(c):\n    return RecursionError\n@f\nclass E:\n    pass\ntry:\n    f(1)\nexcept E:\n    pass",
    "depth by a name in a function": "def f():\n    class Exception:\n        pass\ntry:\n    f()\nexcept Exception:\n    pass",
    "depth by a name with two meanings": "def f():\n    global KeyError\n    KeyError = Exception\ntry:\n    f()\nexcept KeyError:\n    pass",
    "depth by leaving": "def f():\n    try:\n        b''.decode(input())\n    finally:\n        return 1",
    "depth by a stream": "import sys\nclass E:\n    def flush(self):\n        b''.decode('cp437')\nsys.stderr = E()\ninput()",
    "memory": "try:\n    bytearray(1 << 31)\nexcept MemoryError:\n    pass",
    "finalizer": "class A:\n    def __del__(self):\n        print(1)",
    "generator that catches": "def g():\n    try:\n        yield\n    finally:\n        print(1)",
    "generator that hands over": "class A:\n    def close(self):\n        print(1)\ndef g(a):\n    yield from a",
    "merged iterators": "import heapq\nheapq.merge([1], [2])",
    "method of a stream": "import sys\nsys.stdout.flush = lambda: print(1)",
    "closing of a stream": "import sys\nsys.stdin.buffer.raw.close = lambda: print(1)",
    "name of a stream": "f = open(0)\nf.name = 1",
    "class of streams": "import io\nclass A(io.StringIO):\n    def close(self):\n        print(1)",
    "with": "with open(0) as f:\n    f.read()",
    "async": "async def f():\n    pass",
    "match": "match input():\n    case str(x):\n        pass",
    "metaclass": "class A(metaclass=type):\n    pass",
    "attributes by a method": "class A:\n    def __getattr__(self, name):\n        return 1",
    "equal to a module": "from math import sqrt\nimport math as sqrt",
    "relative": "from . import math",
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_what_people_write_shares_a_process(name):
    assert leaves_nothing(PLAIN[name])


@pytest.mark.parametrize("name", KEEPING)
def test_what_could_leave_something_behind_has_a_process_for_each_test(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # what newer Pythons advise against
        compile(KEEPING[name], "", "exec")
    assert not leaves_nothing(KEEPING[name])


def test_what_is_listed_cannot_be_written_to():
    values = [getattr(builtins, name) for name in stateless._BUILTINS]
    uses = stateless._USES.items()
    values += [
        getattr(importlib.import_module(module), name) for (module, name), use in uses if use == stateless._VALUE
    ]
    for value in values:
        if not hasattr(value, "readable"):  # streams, which are new for every test
            with pytest.raises((AttributeError, TypeError)):
                value.seen = 1
    assert stateless._USES["collections", "Counter"] == stateless._USES["functools", "cache"] == stateless._SETTABLE


def test_a_source_too_deep_for_a_tree_has_a_process_for_each_test():
    assert not leaves_nothing("x = " + "-" * 20_000 + "1")
