"""Arrow files and folders that `datasets` saved to disk, as rows of a task."""

import json

import pytest

import markbook
from markbook.errors import DataError
from markbook.files.jsonl import Line, Rejection
from markbook.files.tables import read_table

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
ROWS = [{"q": f"q{n}", "a": n, "many": [f"x{n}", None]} for n in range(2500)]
TASK = "name: t\ndata: {path: DATA}\nprompt: '{{ q }}'\nreference: '{{ a }}'\nmetrics: [exact_match]\n"


def write(path, rows=ROWS, kind=arrow.ipc.new_stream, size=1000):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = arrow.Table.from_pylist(rows)
    with kind(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=size)
    return path


def saved(folder, rows=ROWS, parts=2, **about):
    """Write what `Dataset.save_to_disk(folder, num_shards=parts)` writes, so far as it is read."""
    names = [f"data-{n:05d}-of-{parts:05d}.arrow" for n in range(parts)]
    size = -(-len(rows) // parts)
    for n, name in enumerate(names):
        write(folder / name, rows[n * size : (n + 1) * size])
    (folder / "dataset_info.json").write_text("{}")
    about = {"_data_files": [{"filename": name} for name in names], "_split": "test", **about}
    (folder / "state.json").write_text(json.dumps(about))
    return folder


def records(path):
    return [line.record for line in read_table(path)]


@pytest.mark.parametrize("kind", [arrow.ipc.new_stream, arrow.ipc.new_file])
def test_arrow_files_and_streams_are_read(tmp_path, kind):
    path = write(tmp_path / "rows.arrow", kind=kind)

    assert records(path) == ROWS
    assert list(read_table(path))[1400].at == f"{path}[1401]"


def test_a_saved_data_set_is_read_in_its_order(tmp_path):
    assert records(saved(tmp_path / "set", parts=3)) == ROWS


def test_a_task_takes_either(tmp_path):
    (tmp_path / "answers.jsonl").write_text(
        "".join(json.dumps({"id": str(n), "prediction": str(n % 2)}) + "\n" for n in range(4))
    )
    saved(tmp_path / "set", ROWS[:4])
    write(tmp_path / "rows.arrow", ROWS[:4])
    (tmp_path / "task.yaml").write_text(TASK.replace("DATA", "set"))

    named = markbook.run_task(tmp_path / "task.yaml", predictions=tmp_path / "answers.jsonl", output=tmp_path / "a")
    given = [
        markbook.run_task(
            tmp_path / "task.yaml",
            predictions=tmp_path / "answers.jsonl",
            data=tmp_path / data,
            output=tmp_path / data[:1],
        )
        for data in ("rows.arrow", "set")
    ]

    values = [json.loads((run.folder / "summary.json").read_text())["tasks"]["t"]["metrics"] for run in (named, *given)]
    assert [value["exact_match"]["value"] for value in values] == [0.5, 0.5, 0.5]


def test_of_several_splits_one_is_named(tmp_path):
    saved(tmp_path / "dict" / "test", ROWS[:2])
    (tmp_path / "dict" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    assert records(tmp_path / "dict") == ROWS[:2]

    saved(tmp_path / "dict" / "train", ROWS[2:6])
    with pytest.raises(DataError, match=r"has the splits test, train .*such as .*test"):
        records(tmp_path / "dict")
    assert records(tmp_path / "dict" / "train") == ROWS[2:6]


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"_data_files": [{"filename": "../../etc/passwd"}]}, "list of its files is damaged"),
        ({"_data_files": [{"filename": ".."}]}, "list of its files is damaged"),
        ({"_data_files": [7]}, "list of its files is damaged"),
        ({"_data_files": []}, "list of its files is damaged"),
        ({"_data_files": [{"filename": "gone.arrow"}]}, "no such file"),
        ({"_indices_data_files": [{"filename": "indices.arrow"}]}, "flatten_indices"),
    ],
)
def test_a_folder_that_is_damaged_or_leads_elsewhere_is_refused(tmp_path, about, why):
    with pytest.raises(DataError, match=why):
        records(saved(tmp_path / "set", ROWS[:2], **about))


def test_any_other_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no data set"):
        records(tmp_path)


@pytest.mark.parametrize("cut", [0, 5, 300, -200])
def test_a_file_that_is_cut_off_is_refused(tmp_path, cut):
    path = write(tmp_path / "rows.arrow")
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(DataError, match="not a readable Arrow file"):
        records(path)


def test_an_offset_out_of_bounds_is_refused_and_not_followed(tmp_path):
    path = write(tmp_path / "rows.arrow", [{"q": "x" * 77}])
    offsets = (0).to_bytes(4, "little") + (77).to_bytes(4, "little")
    before, found, behind = path.read_bytes().rpartition(offsets)  # the last is the column's, before its text
    assert found
    path.write_bytes(before + offsets[:4] + (1 << 30).to_bytes(4, "little") + behind)

    with pytest.raises(DataError, match="not a readable Arrow file"):
        records(path)


def test_a_value_that_no_json_holds_costs_its_row_alone(tmp_path):
    rows = list(read_table(write(tmp_path / "rows.arrow", [{"q": b"\xff\x00"}, {"q": None}])))

    assert [type(row) for row in rows] == [Rejection, Line]
