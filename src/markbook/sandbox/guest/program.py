"""What runs in the forked child of one test of a program that reads and writes.

The solution becomes `__main__`, with standard streams, arguments and modules as a fresh interpreter has them, and the process
ends as an interpreter ends. Nothing of the expected output is ever here: what is printed is compared elsewhere.

A program that leaves nothing behind (`examination.stateless`) may meet further tests here, one after the other: with a fifth
descriptor the process says that a test has ended with status 0 and waits for the next input, which is then in the same file.
"""

from __future__ import annotations

import _io
import atexit
import builtins
import gc
import marshal
import os
import sys
from types import ModuleType

from .child import compile_solution
from .explained import MODULE, traceback_lines
from .marking import error_name, error_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import TextIOWrapper
    from types import FrameType
    from typing import Any, NoReturn

    from .child import Guard, Stage

FILE = "solution.py"
_REHEARSALS = 8
"""After so many runs the interpreter has adapted this code to what it sees."""
_REHEARSED = "def f(x):\n    return x\n\nfor n in range(3):\n    f(str(n))\n"
_MOST_DEEP = (1 << 31) - 1
_MOST_EXIT = 1 << 63
FLUSH_FAILED = 120
"""The exit status of an interpreter that could not write all that was printed."""


def run(ends: list[int], stage: Stage, guard: Guard) -> NoReturn:
    """Become the program whose code the first of these files holds, with the others for standard streams; end the process."""
    try:
        text, reader, writer, errors, *turns = ends
        stage.leave()
        code, seed = marshal.loads(_take_over(text, ((reader, 0), (writer, 1), (errors, 2))))
        guard(os.getpid())
        # as in a fresh interpreter: where this process was forked from it is turned off
        gc.enable()
        # and as deep: the frames below the program are ours, and neither count nor are seen in its limit
        frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the only way to count them
        get, put, own = sys.getrecursionlimit, sys.setrecursionlimit, 1
        while frame is not None:
            own, frame = own + 1, frame.f_back

        def setrecursionlimit(limit: int, /) -> None:
            put(min(limit + own, _MOST_DEEP) if limit > 0 else limit)

        put(get() + own)
        sys.setrecursionlimit, sys.getrecursionlimit = setrecursionlimit, lambda: get() - own
        source, limits = os.dup(0) if turns else 0, (sys.getrecursionlimit(), sys.get_int_max_str_digits())
        while not (status := _main(code, seed, is_last=not turns)) and turns:
            os.write(turns[0], b"\0")
            _forget(source, *limits)
            if not os.read(turns[0], 1):
                break
    except BaseException:
        os._exit(1)
    os._exit(status)


def _forget(source: int, depth: int, digits: int) -> None:
    """Free what a program has made, undo what it has set, and make what the next test begins with."""
    sys.setrecursionlimit(depth)
    sys.set_int_max_str_digits(digits)
    if "re" in sys.modules:
        sys.modules["re"].purge()
    _made.clear()
    # with its streams goes what it has set on them, before what is left is said to stay
    sys.stdin = sys.__stdin__ = sys.stdout = sys.__stdout__ = sys.stderr = sys.__stderr__ = None  # type: ignore[misc]
    gc.collect()
    gc.freeze()  # what it has imported stays, and is not gone through again
    os.dup2(source, 0)  # it may have closed its own
    os.lseek(0, 0, os.SEEK_SET)
    _made[:] = _streams()
    _modules.append(_make_main())


def _take_over(text: int, standard: tuple[tuple[int, int], ...]) -> bytes:
    """Return what a file holds, and put others in the place of the standard streams."""
    data = os.pread(text, os.lseek(text, 0, os.SEEK_END), 0)
    os.close(text)
    for descriptor, number in standard:
        os.dup2(descriptor, number)
        os.close(descriptor)
    return data


def _main(code: Any, seed: bool, *, is_last: bool = True) -> int:
    """Execute the program and all that an interpreter does at its end; return the exit status.

    Args:
        code: the program, compiled or as text.
        seed: whether it is to draw the same random numbers in every run.
        is_last: whether the process ends with it.
    """
    stdin, printed, stderr = _made or _streams()
    sys.stdin = sys.__stdin__ = stdin  # type: ignore[misc]  # as the interpreter does
    sys.stdout = sys.__stdout__ = printed  # type: ignore[misc]  # as above
    sys.stderr = sys.__stderr__ = stderr  # type: ignore[misc]  # as above
    sys.argv[:] = [FILE]
    sys.modules.pop(MODULE, None)
    module = sys.modules["__main__"] = _modules.pop()
    if seed:
        import random

        random.seed(0)
    status = 0
    try:
        exec(compile_solution(code) if type(code) is str else code, vars(module))
    except SystemExit as error:
        status = _exit_status(error.code)
    except BaseException as error:
        status = _report_error(error)
    # what an interpreter does at its end, in this order: wait for threads, call what was registered, write out what is held
    try:
        threading = sys.modules.get("threading")
        if threading is not None and is_last:  # after it nobody starts a pool of threads any more
            threading._shutdown()  # noqa: SLF001 - as an interpreter does
        atexit._run_exitfuncs()  # noqa: SLF001 - as above
    except SystemExit as error:
        status = _exit_status(error.code)
    except BaseException as error:
        status = status or _report_error(error)
    status = status if _flush_streams() else status or FLUSH_FAILED
    sys.stdin, sys.stdout, sys.stderr = stdin, printed, stderr  # what the program has put in their place is at its end
    vars(module).clear()  # a file that is still open is written out when nobody holds it any more
    return status if _flush_streams() else status or FLUSH_FAILED


_made: list[TextIOWrapper] = []
"""The standard streams of every program, made once: to make them costs a child more than all the rest."""
_modules: list[ModuleType] = []
"""What becomes the main module of the next program, made for the same reason before the fork."""
_replaced: list[Any] = []
"""What a program's streams stand in for: to close that, too, costs every child more than to keep it."""


def prepare() -> None:
    """Make, before the fork, the standard streams, to be a file and two pipes in every child, and try what each child does."""
    saved = [os.dup(number) for number in range(3)]
    _replaced[:] = sys.__stdin__, sys.__stdout__, sys.__stderr__, sys.modules["__main__"]
    standard = sys.stdin, sys.stdout, sys.stderr, list(sys.argv), sys.modules["__main__"]
    null_file = os.open(os.devnull, os.O_RDONLY)  # one can go back in it as in a file
    reader, writer = os.pipe()
    text = marshal.dumps((compile(_REHEARSED, FILE, "exec"), False))
    for number, descriptor in enumerate((null_file, writer, writer)):
        os.dup2(descriptor, number)
    _made[:] = _streams()
    _modules[:] = [_make_main() for _ in range(1 + _REHEARSALS)]
    for _ in range(_REHEARSALS):
        _take_over(os.dup(null_file), ((os.dup(null_file), 0), (os.dup(writer), 1), (os.dup(writer), 2)))
        code, seed = marshal.loads(text)
        _main(code, seed, is_last=False)
    for descriptor in (null_file, reader, writer):
        os.close(descriptor)
    for number, descriptor in enumerate(saved):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr, sys.argv[:], sys.modules["__main__"] = standard


def _make_main() -> ModuleType:
    module = ModuleType("__main__")
    module.__builtins__ = builtins  # type: ignore[attr-defined]  # as the interpreter does
    module.__file__ = FILE
    return module


def _streams() -> list[TextIOWrapper]:
    escaping, replacing = "surrogateescape", "backslashreplace"  # as an interpreter in UTF-8 mode opens them
    ways = ((0, "r", -1, escaping), (1, "w", -1, escaping), (2, "w", 1, replacing))
    streams = [_io.open(number, mode, size, "utf-8", how, closefd=False) for number, mode, size, how in ways]
    for stream, name in zip(streams, ("<stdin>", "<stdout>", "<stderr>"), strict=True):
        stream.buffer.raw.name = name  # type: ignore[attr-defined]  # one of text has it
    return streams  # type: ignore[return-value]  # by its mode


def _report_error(error: BaseException) -> int:
    if sys.excepthook is not sys.__excepthook__:
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:
            return 1
        return 1
    message = error_text(error).partition("\n")[0]
    try:
        trace = traceback_lines(error)
    except BaseException:  # its traceback is what a class of the program's says that it is
        trace = []
    lines = "".join(f'  File "<{MODULE}>", line {line}, in {function}\n' for line, function in trace)
    os.write(2, f"\n{lines}{error_name(error)}: {message}\n".encode("utf-8", "replace"))
    return 1


def _exit_status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        value = int.__index__(code)
        # the kernel passes on only the last eight bits; what C has no number for is -1 to an interpreter
        return value & 0xFF if -_MOST_EXIT <= value < _MOST_EXIT else 0xFF
    os.write(2, f"\n{code}\n".encode("utf-8", "replace"))
    return 1


def _flush_streams() -> bool:
    """Write out what the standard streams hold; whether standard output could be."""
    good = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException:
            good = good and stream is not sys.stdout
    return good
