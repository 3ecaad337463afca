"""Build METEOR's synonym table from the WordNet 3.0 database files (Debian: package wordnet-base).

    python scripts/build_synonyms.py [FOLDER]        default /usr/share/wordnet

Writes src/markbook/metrics/text/data/synonyms.tsv, sorted by bytes so that a reader can bisect it. One line a form:

    form TAB fields, each one of
      n:= word word ...   the one-word, lower-case synonyms of the form as a noun (v verb, a adjective, r adverb);
                          `=` is the form itself, absent where WordNet spells it otherwise (`paris`, `Paris`)
      N:base base ...     the base forms that WordNet's exception list gives for it, instead of the suffix rules

A synonym with a capital letter or of several words can match no token, so it is left out. The result is the same for the same input, byte by byte.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
OUT = Path(__file__).resolve().parents[1] / "src" / "markbook" / "metrics" / "text" / "data" / "synonyms.tsv"
Table = defaultdict[str, list[str]]

MARKER = re.compile(r"\((a|p|ip)\)$")


def synsets(path: Path) -> dict[str, list[str]]:
    """Return each synset's words by its offset, read from a data file."""
    found = {}
    for line in path.read_text("ascii").splitlines():
        if line.startswith("  "):
            continue  # the licence
        fields = line.split(" ")
        count = int(fields[3], 16)
        found[fields[0]] = [MARKER.sub("", fields[4 + 2 * i]) for i in range(count)]
    return found


def add_index(table: Table, folder: Path, letter: str) -> None:
    words_of = synsets(folder / f"data.{FILES[letter]}")
    for line in (folder / f"index.{FILES[letter]}").read_text("ascii").splitlines():
        if line.startswith("  "):
            continue
        fields = line.split()
        lemma, n_synsets = fields[0], int(fields[2])
        words = {word for offset in fields[-n_synsets:] for word in words_of[offset]}
        usable = sorted(word for word in words if "_" not in word and word == word.lower() and word != lemma)
        itself = ["="] if lemma in words and "_" not in lemma else []
        if itself or usable:
            table[lemma].append(f"{letter}:{' '.join(itself + usable)}")


def add_exceptions(table: Table, folder: Path, letter: str) -> None:
    exceptions = {}
    for line in (folder / f"{FILES[letter]}.exc").read_text("ascii").splitlines():
        form, *bases = line.split()
        exceptions[form] = bases
    for form, bases in exceptions.items():
        table[form].append(f"{letter.upper()}:{' '.join(bases)}")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/wordnet")
    if not (folder / "index.noun").is_file():
        sys.exit(f"{folder} holds no WordNet database (Debian and Ubuntu: apt install wordnet-base)")
    table: Table = defaultdict(list)
    for letter in FILES:
        add_index(table, folder, letter)
        add_exceptions(table, folder, letter)
    lines = sorted("\t".join([form, *fields]).encode("ascii") for form, fields in table.items())
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(b"\n".join(lines) + b"\n")
    print(f"{OUT.name}: {len(lines)} forms, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
