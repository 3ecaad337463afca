"""PHP, by its command line."""

from __future__ import annotations

from pathlib import Path

from markbook.languages.language import Ending, Failures, Language

_EXTENSIONS = ("bcmath", "calendar", "ctype", "gmp", "iconv", "intl", "mbstring", "tokenizer")
"""What programs find where it is installed; nothing else is loaded: FFI would reach any memory of the process."""
_SHARED = Path("/usr/lib/php")
"""Where the system keeps extensions, by the interpreter's interface; others have them built in."""


def php() -> Language:
    """Return the language."""
    installed = {path.stem for path in _SHARED.glob("*/*.so")}
    loaded = [word for name in _EXTENSIONS if name in installed for word in ("-d", f"extension={name}")]
    return Language(
        name="php",
        title="PHP",
        source="main.php",
        commands=("php",),
        package="php-cli",
        run=("{php}", "-n", *loaded, "-d", "zend.assertions=1", "-d", "display_errors=stderr", "{build}/main.php"),
        ending=Ending(
            text=(
                "$markbook_said = stream_get_contents(STDIN, 32); $markbook_held = '{nonce}';\n"
                "try { {claim} } catch (Throwable $markbook_thrown) { $markbook_held = '{token}'; }\n"
                'echo "\\n" . $markbook_held . $markbook_said . "\\n";'
            ),
            claim='throw new Exception("claim");',
            claims=(("assert(", "assert(1 === 2);"),),
            catches=True,
        ),
        failures=Failures(
            tests=r"Test failed|AssertionError|assert\(", names=r"Call to undefined", syntax=r"Parse error"
        ),
        self_test=(
            "<?php\nfunction twice($x) { return 2 * $x; }\n",
            "<?php\nfunction twice($x) { return $x; }\n",
            'if (twice(2) !== 4) { throw new Exception("Test failed!"); }\n',
        ),
    )
