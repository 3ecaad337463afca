"""Fuzzing every reader for as long as there is time: `python -m bench.fuzz --minutes 30` or `make fuzz MINUTES=30`.

Coverage-guided where atheris is installed (the extra `fuzz`), else changed seeds, with those kept that end in a new way.
Each target has an equal share of the time. What breaks a reader is written to tests/fuzz_corpus/<target>/found-<digest>,
where every run of the tests tries it again: commit it together with the mending.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "security")]
LONGEST = 8192
"""Bytes of an input."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz every reader.")
    parser.add_argument("--minutes", type=float, default=5.0, help="for all targets together")
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument("--plain", action="store_true", help="without atheris, also where it is installed")
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)  # of one target, in a process of its own
    options = parser.parse_args()
    guided = not options.plain and importlib.util.find_spec("atheris") is not None
    if options.seconds is not None:
        (_guided if guided else _plain)(options.target[0], options.seconds)
        return
    from support import fuzz_targets

    names = options.target or list(fuzz_targets.TARGETS)
    print(f"{len(names)} targets, {'atheris' if guided else 'changed seeds'}, {options.minutes:g} minutes")
    broken = [name for name in names if not _run(name, 60 * options.minutes / len(names), plain=not guided)]
    sys.exit(f"broken: {', '.join(broken)}" if broken else 0)


def _run(name: str, seconds: float, *, plain: bool) -> bool:
    """Fuzz one target in a process of its own; return whether it held."""
    command = [sys.executable, "-m", "bench.fuzz", "--target", name, "--seconds", str(seconds)]
    done = subprocess.run(
        [*command, *(["--plain"] if plain else [])],
        cwd=ROOT, capture_output=True, text=True, timeout=seconds + 120, check=False,
    )  # fmt: skip
    counted = next(
        (line for line in reversed((done.stdout + done.stderr).splitlines()) if "inputs" in line or "Done " in line), ""
    )
    print(f"{name:12} {'held' if done.returncode == 0 else 'BROKEN'}  {counted.strip()}", flush=True)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).splitlines()
        first = next((place for place, line in enumerate(said) if line.startswith("Traceback")), -20)
        print(*said[first:][:30], sep="\n", flush=True)
    return done.returncode == 0


def _guided(name: str, seconds: float) -> None:
    """Let atheris search for inputs that reach new code; ends the process."""
    import atheris

    with atheris.instrument_imports(include=["markbook", "fuzz_targets"]):
        from support import fuzz_targets

        scratch = tempfile.TemporaryDirectory(prefix="markbook-fuzz-")
        for data in fuzz_targets.seeds(name):  # readers import late: reach the imports now
            fuzz_targets.attempt(name, data, _fresh(Path(scratch.name)))

    def one(data: bytes) -> None:
        folder = _fresh(Path(scratch.name))
        try:
            fuzz_targets.attempt(name, data, folder)
        except BaseException:
            _keep(name, data)
            raise

    corpus = Path(scratch.name) / "corpus"
    corpus.mkdir()
    arguments = [
        sys.argv[0], str(corpus), str(fuzz_targets.CORPUS / name), f"-max_total_time={max(1, int(seconds))}",
        f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=2048", f"-artifact_prefix={scratch.name}/", "-seed=1",
    ]  # fmt: skip
    atheris.Setup(arguments, one)
    atheris.Fuzz()


def _plain(name: str, seconds: float) -> None:
    """Change kept inputs at random; keep those that end in a way not seen before."""
    from support import fuzz_targets

    chance = random.Random(name)
    pool = fuzz_targets.seeds(name)
    seen: set[str] = set()
    count = 0
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="markbook-fuzz-") as scratch:
        while time.monotonic() < end:
            data = pool[count] if count < len(pool) else _changed(chance, pool)
            count += 1
            folder = _fresh(Path(scratch))
            try:
                ended = fuzz_targets.attempt(name, data, folder)
            except BaseException:
                _keep(name, data)
                raise
            if (what := f"{ended} {len(data).bit_length()}") not in seen:
                seen.add(what)
                pool.append(data)
    print(f"{count} inputs, {len(seen)} kinds of end")


def _fresh(scratch: Path) -> Path:
    """Return an empty folder for one input."""
    folder = scratch / "input"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _changed(chance: random.Random, pool: list[bytes]) -> bytes:
    data = bytearray(chance.choice(pool))
    for _ in range(chance.randint(1, 6)):
        place = chance.randint(0, len(data))
        what = chance.randrange(6)
        if what == 0:
            del data[place : place + chance.randint(1, 30)]
        elif what == 1 and data:
            data[min(place, len(data) - 1)] = chance.randrange(256)
        elif what == 2:
            data[place:place] = chance.choice(_WORDS)
        elif what == 3:
            data[place:place] = data[place : place + chance.randint(1, 200)]
        elif what == 4:
            other = chance.choice(pool)
            start = chance.randint(0, len(other))
            data[place:place] = other[start : start + chance.randint(1, 200)]
        else:
            data[place:place] = chance.randbytes(chance.randint(1, 4))
    return bytes(data[:LONGEST])


_WORDS = (
    b"null", b"true", b"-1", b"1e999", b"NaN", b"9" * 400, b'""', b"[]", b"{}", b"[" * 60, b'{"a":' * 60, b"\n", b"\x00",
    b"\\ud800", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"../", b"'", b'"', b"\r\n", b"0.0000001", b"18446744073709551616",
)  # fmt: skip


def _keep(name: str, data: bytes) -> None:
    traceback.print_exc()
    path = ROOT / "tests" / "fuzz_corpus" / name / f"found-{hashlib.sha256(data).hexdigest()[:10]}"
    path.write_bytes(data)
    print(f"kept in {path.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
