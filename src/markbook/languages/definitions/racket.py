"""Racket."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language

_RAISES = "(require rackunit)\n(current-check-handler (lambda (markbook-failed) (raise markbook-failed)))\n"
"""What a check that fails is to mean: by itself it only prints."""


def racket() -> Language:
    """Return the language."""
    return Language(
        name="racket",
        title="Racket",
        aliases=("rkt",),
        source="main.rkt",
        commands=("racket",),
        package="racket",
        run=("{racket}", "{build}/main.rkt"),
        folders=("/usr/share/racket", "/etc/racket"),
        ending=Ending(
            text=(
                "(define markbook-said (read-string 32))\n"
                '(define markbook-held (with-handlers ([(lambda (_) #t) (lambda (_) "{token}")]) {claim} "{nonce}"))\n'
                '(printf "\\n~a~a\\n" markbook-held markbook-said)'
            ),
            claim='(error "claim")',
            claims=(("check-within", "(check-within 1.0 2.0 0.001)"), ("check-equal?", "(check-equal? 1 2)")),
            guards=(("rackunit", _RAISES),),
            catches=True,
        ),
        failures=Failures(
            tests=r"rackunit/private/check|Check failure",
            names=r"unbound identifier",
            syntax=r"read-syntax|bad syntax",
        ),
        self_test=(
            "#lang racket\n(define (twice x) (* 2 x))\n",
            "#lang racket\n(define (twice x) x)\n",
            "(require rackunit)\n(check-equal? (twice 2) 4)\n",
        ),
    )
