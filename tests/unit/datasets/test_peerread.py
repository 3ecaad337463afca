"""Papers and human reviews in every PeerRead dialect."""

import json

import pytest

from markbook.datasets.papers import EntryKind, PeerRead, as_number, mend
from markbook.errors import DataError


def write(folder, venue, split, name, reviews, **fields):
    place = folder / venue / split / "reviews"
    place.mkdir(parents=True, exist_ok=True)
    record = {"title": "A title", "abstract": "An abstract.", "id": name, "reviews": reviews, **fields}
    (place / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")


def write_text(folder, venue, split, name, sections):
    place = folder / venue / split / "parsed_pdfs"
    place.mkdir(parents=True, exist_ok=True)
    record = {"name": f"{name}.pdf", "metadata": {"title": "From the PDF", "sections": sections}}
    (place / f"{name}.pdf.json").write_text(json.dumps(record), encoding="utf-8")


def load_one(folder):
    (paper,) = PeerRead().load(folder).papers
    return paper


def test_acl_scores_are_strings_on_five_points(tmp_path):
    entry = {"comments": "Good.", "RECOMMENDATION": "4", "CLARITY": "3", "is_meta_review": None}
    write(tmp_path, "acl_2017", "train", "104", [entry])

    paper = load_one(tmp_path)

    assert paper.id == "104"
    assert paper.scale == (1, 5)
    assert paper.human[0].recommendation == 4
    assert paper.human[0].scores == {"clarity": 3}


def test_iclr_entries_are_told_apart_and_none_is_dropped(tmp_path):
    reviewer = "ICLR 2017 conference AnonReviewer1"
    entries = [
        {"comments": "Thank you.", "OTHER_KEYS": "Ann Author", "TITLE": "reply", "DATE": "1"},
        {"comments": "Nice.", "OTHER_KEYS": "(anonymous)", "TITLE": "a question", "DATE": "1"},
        {"comments": "Accepted.", "OTHER_KEYS": "ICLR 2017 pcs", "TITLE": "ICLR committee final decision", "DATE": "1"},
        {"comments": "A review.", "OTHER_KEYS": reviewer, "RECOMMENDATION": 7, "REVIEWER_CONFIDENCE": 3, "DATE": "1"},
        {"comments": "", "OTHER_KEYS": reviewer, "TITLE": "pre review questions", "DATE": "1"},
    ]
    write(tmp_path, "iclr_2017", "test", "330", entries, authors="Ann Author, Bob Author", id="")

    papers = PeerRead().load(tmp_path)

    (paper,) = papers.papers
    assert [entry.kind.value for entry in paper.entries] == ["author", "comment", "decision", "human", "empty"]
    assert paper.id == "330"
    assert paper.scale == (1, 10)
    assert {kind.value: papers.counts[f"entries_{kind.value}"] for kind in EntryKind} == {
        "human": 1, "meta": 0, "decision": 1, "author": 1, "comment": 1, "empty": 1
    }  # fmt: skip


def test_neurips_2025_has_six_points_and_a_worded_decision(tmp_path):
    entries = [
        {"comments": "Fine.", "RECOMMENDATION": 6, "IS_META_REVIEW": False},
        {"comments": "DECISION: Accept", "RECOMMENDATION": "Accept (poster)", "IS_META_REVIEW": True},
        {"comments": "Summary of reviews.", "IS_META_REVIEW": True},
    ]
    write(tmp_path, "neurips_2025", "dev", "x", entries, conference="NeurIPS 2025")

    paper = load_one(tmp_path)

    assert paper.scale == (1, 6)
    assert [entry.kind.value for entry in paper.entries] == ["human", "decision", "meta"]
    assert paper.entries[1].decision == "Accept (poster)"


def test_arxiv_paper_without_reviews_is_a_paper(tmp_path):
    write(tmp_path, "arxiv.cs.ai_2007-2017", "test", "1103.3240", [], accepted=True)

    paper = load_one(tmp_path)

    assert paper.human == []
    assert paper.accepted is True
    assert paper.full_text() == "An abstract."


def test_text_and_reviews_of_one_paper_meet(tmp_path):
    write(tmp_path, "acl_2017", "train", "1", [{"comments": "Good."}])
    write_text(
        tmp_path, "acl_2017", "train", "1", [{"heading": "1 Intro", "text": "We do."}, {"heading": None, "text": ""}]
    )

    paper = load_one(tmp_path)

    assert paper.full_text() == "1 Intro\nWe do."
    assert paper.human[0].text == "Good."


def test_scores_out_of_range_are_noted_and_not_used(tmp_path):
    write(tmp_path, "acl_2017", "train", "1", [{"comments": "x", "RECOMMENDATION": "9", "CLARITY": 0}])

    paper = load_one(tmp_path)

    assert paper.human[0].recommendation is None
    assert paper.human[0].scores == {}
    assert len(paper.notes) == 2


def test_doubly_encoded_text_is_mended_and_recorded(tmp_path):
    broken = "an “entity”".encode().decode("latin-1")
    write(tmp_path, "conll_2016", "dev", "25", [{"comments": broken}])

    paper = load_one(tmp_path)

    assert paper.human[0].text == "an “entity”"
    assert paper.human[0].mended == 2
    assert "doubly encoded" in paper.notes[0]


@pytest.mark.parametrize("text", ["naïve café", "Ärger über Öl", "日本語のテキスト", "50 € for “fine”", "Ã", ""])
def test_good_text_is_left_alone(text):
    assert mend(text) == (text, 0)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_both_usual_wrong_encodings_are_undone(encoding):
    # Every byte of these characters is defined in both encodings.
    good = "voil\u00e9 \u201cna\u00efve\u201e"

    assert mend(good.encode().decode(encoding)) == (good, 4)


@pytest.mark.parametrize(
    ("value", "number"),
    [("4", 4), (3.5, 3.5), ("3: borderline", 3), ("Accept", None), (None, None), (True, None), ("", None)],
)
def test_numbers_are_read_from_numbers_only(value, number):
    assert as_number(value) == number


def test_papers_of_one_name_are_kept_apart(tmp_path):
    write(tmp_path, "acl_2017", "train", "1", [{"comments": "a"}])
    write(tmp_path, "conll_2016", "dev", "1", [{"comments": "b"}])

    papers = PeerRead().load(tmp_path)

    assert sorted(papers.by_id()) == ["acl_2017/train/1", "conll_2016/dev/1"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 100_000, b'{"reviews": 3}', b'{"reviews": []', b"\xff\xfe", b"null"]
)
def test_a_broken_file_is_counted_and_the_rest_is_read(tmp_path, content):
    write(tmp_path, "acl_2017", "train", "1", [{"comments": "a"}])
    (tmp_path / "acl_2017" / "train" / "reviews" / "2.json").write_bytes(content)

    papers = PeerRead().load(tmp_path)

    assert [paper.id for paper in papers.papers] == ["1"]
    assert papers.counts["rejected_files"] == 1


def test_entries_that_are_no_objects_are_noted(tmp_path):
    write(tmp_path, "acl_2017", "train", "1", ["text", None, {"comments": "a"}])

    paper = load_one(tmp_path)

    assert len(paper.entries) == 1
    assert "2 entries" in paper.notes[0]


def test_the_folder_may_be_any_level_of_the_layout(tmp_path):
    write(tmp_path, "acl_2017", "train", "1", [{"comments": "a"}])
    root = tmp_path / "acl_2017" / "train"

    for place in (tmp_path, root.parent, root, root / "reviews", root / "reviews" / "1.json"):
        (paper,) = PeerRead().load(place).papers
        assert (paper.id, paper.scale) == ("1", (1, 5))


def test_a_folder_without_papers_is_refused(tmp_path):
    (tmp_path / "other.json").write_text("{}")

    with pytest.raises(DataError, match="no paper"):
        PeerRead().load(tmp_path)


def test_a_paper_is_a_sample_with_its_human_reviews_as_references(tmp_path):
    write(tmp_path, "acl_2017", "train", "1", [{"comments": "a"}, {"comments": "b", "IS_META_REVIEW": True}])

    sample = load_one(tmp_path).sample()

    assert sample.references == ("a",)
    assert sample.input == "An abstract."


def test_every_real_dialect_is_read(shared_data):
    papers = PeerRead().load(shared_data / "peerread-format")

    # Counted in the files: 31 + 14 NeurIPS, acl, conll, iclr, arXiv, and two parsed papers without a review file.
    assert papers.counts["papers"] == 51
    assert papers.counts["rejected_files"] == 0
    assert papers.counts["entries_human"] == 124 + 64 + 3 + 1 + 3
    assert papers.counts["entries_decision"] == 31 + 14 + 1
    assert papers.counts["entries_author"] == 3
    assert papers.counts["entries_empty"] == 2
    by_id = papers.by_id()
    assert by_id["25"].entries[0].mended == 21
    assert by_id["330"].recommendations == [7, 6, 7]


def test_a_second_file_of_a_paper_is_counted_and_not_taken_for_the_first(tmp_path):
    write(tmp_path, "acl_2017", "train", "1", [{"comments": "First."}])
    twin = tmp_path / "acl_2017" / "train" / "1.json"
    twin.write_text(json.dumps({"title": "A copy", "reviews": [{"comments": "Second."}]}))

    read = PeerRead().load(tmp_path)

    assert [paper.id for paper in read.papers] == ["1"]
    (rejection,) = read.rejections
    assert "the reviews of this paper are in " in rejection.reason
