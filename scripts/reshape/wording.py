"""Write "is not a" where prose says "is no": `python scripts/reshape/wording.py ROOT [--write]`."""

import re, sys, pathlib

ROOT = pathlib.Path(sys.argv[1])
WRITE = "--write" in sys.argv
SKIP = {
    "longer",
    "more",
    "such",
    "one",
    "other",
    "way",
    "room",
    "part",
    "success",
    "proof",
    "substance",
    "time",
    "space",
    "place",
    "memory",
    "reason",
    "limit",
    "need",
    "latest",
    "less",
    "sooner",
    "matter",
    "use",
    "point",
    "doubt",
    "difference",
    "distance",
    "variation",
    "stand",
    "noise",
    "trouble",
    "news",
    "worst",
    "worse",
    "better",
    "and",
    "or",
    "warning",
    "information",
    "mean",
    "secret",
    "harm",
    "question",
    "procfs",
    "evidence",
    "guard",
    "longer",
    "input",
    "truth",
}
UNC = {"part": "part", "success": "a success", "proof": "proof", "evidence": "evidence", "secret": "a secret"}
VOW = re.compile(r"^(?:[aeio]|un(?!i)|u(?!n|s|t))")


def art(w):
    return "an" if VOW.match(w) else "a"


pat = re.compile(r"(?<![Tt]here )(?<!Here )(?<!here\n)\b(is|was) no ([a-z][a-z-]*)")
plu = re.compile(r"(?<![Tt]here )\b(are|were) no ([a-z]+s)\b")
n = 0


def f(m):
    global n
    w = m[2]
    if w in UNC:
        n += 1
        return f"{m[1]} not {UNC[w]}"
    if w in SKIP:
        return m[0]
    n += 1
    return f"{m[1]} not {art(w)} {w}"


def g(m):
    global n
    if m[2] in SKIP:
        return m[0]
    n += 1
    return f"{m[1]} not {m[2]}"


seen = {}
tails = set()  # "no rater's name (letters": what stands after "is" in messages that change


def remember(t):
    for m in pat.finditer(t):
        if m[2] not in SKIP or m[2] in UNC:
            tails.add(t[m.start() + len(m[1]) + 1 :][:60].split("\n")[0])


def fragment(m):
    """A test that asks for the end of such a message begins its string with it."""
    if any(tail.startswith(m[0][1:]) for tail in tails):
        word = m[0][4:].split()[0].rstrip(".,:")
        return m[0][0] + (f"not {UNC[word]}" if word in UNC else f"not {art(word)} {word}") + m[0][4 + len(word) :]
    return m[0]


FRAGMENT = re.compile(r"""["']no [a-z][a-z-]*(?:[ ][^"'\n\\({]*|'s [^"\n\\({]*)?(?=["'\\({])""")
for d in ("src", "tests", "docs", "bench", "scripts", "README.md", "CONTRIBUTING.md", "SECURITY.md", "examples"):
    p = ROOT / d
    for q in [p] if p.is_file() else [x for e in ("*.py", "*.md", "*.j2", "*.js") for x in sorted(p.rglob(e))]:
        if "__pycache__" in str(q) or "attacks/" in str(q) or "/honest/" in str(q) or "scripts/reshape" in str(q):
            continue
        t = q.read_text()
        if d == "src":
            remember(t)
        u = FRAGMENT.sub(fragment, t) if d == "tests" else t
        u = plu.sub(g, pat.sub(f, u))
        if t != u:
            for a, b in zip(t.split("\n"), u.split("\n")):
                if a != b:
                    seen[b.strip()[:130]] = q
            if WRITE:
                q.write_text(u)
print(n, "changes", len(set(seen.values())), "files")
if not WRITE:
    for k in list(seen)[::7]:
        print(k)
