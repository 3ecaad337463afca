"""What a scratch folder is like before each attempt."""

import os
import stat

from markbook.sandbox.guest import scratch


def test_restoring_leaves_no_trace_of_an_attempt_in_modes_and_times(tmp_path):
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").write_text("x")
    (folder / "link").symlink_to("inner")
    paths = [folder, *sorted(folder.rglob("*"))]
    for number, path in enumerate(paths):
        os.utime(path, (1000 + number, 2000 + number), follow_symlinks=False)
    (folder / "inner" / "file").chmod(0o600)
    (folder / "inner").chmod(0o000)

    scratch.restore(str(folder))

    found = [path.lstat() for path in paths]
    assert {status.st_mtime for status in found} == {946_684_800.0}  # the first of January 2000
    assert {stat.S_IMODE(status.st_mode) for status in found if not stat.S_ISLNK(status.st_mode)} == {0o700}
