"""R, by Rscript."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language


def r() -> Language:
    """Return the language."""
    return Language(
        name="r",
        title="R",
        aliases=("rscript",),
        source="main.R",
        commands=("Rscript",),
        package="r-base-core",
        run=("{Rscript}", "--vanilla", "{build}/main.R"),
        folders=("/etc/R", "/usr/share/R"),
        ending=Ending(
            text=(
                'markbook_said <- readChar(file("stdin", "rb"), 32, useBytes = TRUE)\n'
                'markbook_held <- tryCatch({ {claim}; "{nonce}" }, error = function(markbook_error) "{token}")\n'
                'cat("\\n", markbook_held, markbook_said, "\\n", sep = "")'
            ),
            claim='stop("claim")',
            claims=(("stopifnot", "stopifnot(isTRUE(all.equal(1, 2)))"),),
            catches=True,
        ),
        failures=Failures(
            tests=r"is not TRUE|are not all TRUE",
            names=r"could not find function|object '.*' not found",
            syntax=r"unexpected ",
        ),
        self_test=(
            "twice <- function(x) { 2 * x }\n",
            "twice <- function(x) { x }\n",
            "stopifnot(twice(2) == 4)\n",
        ),
    )
