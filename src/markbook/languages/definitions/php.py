"""PHP, by its command line."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language


def php() -> Language:
    """Return the language."""
    return Language(
        name="php",
        title="PHP",
        source="main.php",
        commands=("php",),
        package="php-cli",
        run=("{php}", "-n", "-d", "zend.assertions=1", "-d", "display_errors=stderr", "{build}/main.php"),
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
