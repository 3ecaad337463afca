"""Digests of texts are written into files and compared with those of other versions and tools: one function makes them."""

import ast
import hashlib
from pathlib import Path

import markbook
from markbook.types import digest_text

SOURCE = Path(markbook.__file__).parent
OF_OTHER_BYTES = {
    "judge/probes.py": "half a character is replaced, as in the label files that exist",
    "report/html.py": "the base64 of a Content-Security-Policy",
}


def test_a_digest_is_the_sha_256_of_the_text_as_utf_8():
    assert digest_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_text("é") == hashlib.sha256(b"\xc3\xa9").hexdigest()
    assert digest_text("\ud800") == hashlib.sha256(b"\xed\xa0\x80").hexdigest()


def test_no_other_module_digests_a_text_by_itself():
    copies = set()
    own = [path for path in SOURCE.rglob("*.py") if "guest" not in path.parts]  # a guest has nothing of ours to import
    for path in own:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hashlib.sha256", "sha256") and node.args:
                content = node.args[0]
                if isinstance(content, ast.Call) and ast.unparse(content.func).endswith(".encode"):
                    copies.add(path.relative_to(SOURCE).as_posix())

    assert copies == {"types.py", *OF_OTHER_BYTES}
