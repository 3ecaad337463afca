# Replaces how modules are found, with a finder of its own.
# against: unittest, assertions, numpy_testing, async_main, beside, beside_check, beside_unittest, beside_assertions, beside_numpy, beside_mock, beside_async
import sys, importlib.machinery
for _name in [n for n in sys.modules if n.partition('.')[0] in ('unittest', 'asyncio', 'numpy')]:
    del sys.modules[_name]


class Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name.partition('.')[0] in ('unittest', 'asyncio', 'numpy') else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        module.__getattr__ = lambda name: (lambda *given, **named: None)
        module.TestCase = object
        module.__path__ = []


sys.meta_path.insert(0, Finder())
