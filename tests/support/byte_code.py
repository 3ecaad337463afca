"""One folder of byte code for all processes of a session.

Where a machine writes none (`PYTHONDONTWRITEBYTECODE`, a checkout that cannot be written), each of some thousand
interpreters that the tests start would compile the product anew, and each worker all tests.
"""

import os
import shutil
import sys
import tempfile

FOLDER = "MARKBOOK_TEST_CACHE"
"""Names a folder that is kept for later sessions; `off` shares nothing."""
OFF = "off"


def share(config):
    """Have this process, its workers and all children keep their byte code in one folder; it goes at the end."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = os.environ.get(FOLDER)
        if folder == OFF or config.option.level == "all":
            return
        if not folder:
            folder = tempfile.mkdtemp(prefix="markbook-tests-")
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if folder := os.environ.get("PYTHONPYCACHEPREFIX"):
        sys.pycache_prefix = folder
        sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
