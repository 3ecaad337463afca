"""Reading YAML: positions, caps, and nothing executed."""

import os

import pytest
from hypothesis import given, settings, strategies as st

from markbook.config.tree import MAX_BYTES, MAX_DEPTH, Function, parse_tree, plain, read_tree
from markbook.errors import ConfigError


def parse(text):
    return plain(parse_tree(text, "task.yaml"))


def complaint(text):
    with pytest.raises(ConfigError) as caught:
        parse_tree(text, "task.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: -0x1F", {"a": "-0x1F"}),
        ("a: 0x1F\nb: 0o17", {"a": 31, "b": 15}),
        ("a: 1e-3", {"a": 0.001}),
        ("a: no", {"a": "no"}),
        ("a: true\nb: ~\nc:", {"a": True, "b": None, "c": None}),
        ("a: '1'", {"a": "1"}),
        ("a: !!str 1", {"a": "1"}),
        ("a: !!int '7'", {"a": 7}),
        ("- 1\n- [2, {x: y}]", [1, [2, {"x": "y"}]]),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("base: &b {x: 1, y: 2}\na: {<<: *b, y: 3}", {"base": {"x": 1, "y": 2}, "a": {"x": 1, "y": 3}}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("1: a", {"1": "a"}),
    ],
)
def test_values_follow_the_core_schema(text, value):
    assert parse(text) == value


def test_a_function_tag_stays_a_name_with_its_place():
    assert parse("m: !function utils.bleu_score") == {"m": Function("utils.bleu_score", "task.yaml:1:4")}


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: 1\na: 2", "task.yaml:2:1", "duplicate key 'a' (first at 1:1)"),
        ("a: [1, 2", "task.yaml:", "not valid YAML"),
        ("a: b: c", "task.yaml:1:", "not valid YAML"),
        ("a: \x07", "task.yaml:", "character #x0007: special characters are not allowed"),
        ("a: *x", "task.yaml:1:4", "no anchor"),
        ("a: &x [*x]", "task.yaml:1:8", "no anchor"),
        ("a: 1\n---\nb: 2", "task.yaml:2:1", "second document"),
        ("a: .nan", "task.yaml:1:4", "finite"),
        ("a: -.inf", "task.yaml:1:4", "finite"),
        ("a: 1e999", "task.yaml:1:4", "finite"),
        ("{[1]: 2}", "task.yaml:1:2", "key"),
        ("", "task.yaml", "empty"),
        ("a: !function 'os; rm'", "task.yaml:1:4", "!function takes a name"),
    ],
)
def test_what_is_wrong_is_named_at_its_place(text, place, words):
    found = complaint(text)

    assert found.startswith(place)
    assert words in found


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system ['touch canary']",
        "!!python/name:os.system",
        "!!python/object/new:subprocess.Popen [[touch, canary]]",
        "!!python/module:os",
        "!include other.yaml",
        "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch canary']",
        "!!set {a}",
        "!!binary aGk=",
    ],
)
def test_no_other_tag_is_taken_and_nothing_runs(tag, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert "is not allowed" in complaint(f"a: {tag}")
    assert list(tmp_path.iterdir()) == []


def test_an_alias_bomb_is_refused_before_it_unfolds():
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]

    assert "aliases stand for more than 100,000 values" in complaint("\n".join(lines))


def test_a_bomb_of_merge_keys_is_refused():
    lines = ["a0: &a0 {k0: [" + ", ".join(["x"] * 400) + "]}"]
    lines += [f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: *a{i - 1}}}" for i in range(1, 12)]

    assert "aliases stand for more than" in complaint("\n".join(lines))


def test_depth_is_capped():
    assert "nested deeper than 64" in complaint("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


def test_size_is_capped_and_only_regular_files_are_read(tmp_path):
    large = tmp_path / "large.yaml"
    large.write_text("a: " + "x" * MAX_BYTES, encoding="utf-8")
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)

    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        read_tree(large)
    with pytest.raises(ConfigError, match="not a regular file"):
        read_tree(pipe)
    with pytest.raises(ConfigError, match="No such file"):
        read_tree(tmp_path / "none.yaml")


def test_bad_utf_8_is_named_with_its_line(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")

    with pytest.raises(ConfigError, match=r"bad\.yaml:2: not UTF-8"):
        read_tree(path)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("ab:-[]{}&*!|>#'\"\n ,?%@`<\t0.\x00\u2028é")), max_size=60))
def test_any_text_gives_a_tree_or_one_complaint(text):
    try:
        tree = parse_tree(text, "x.yaml")
        plain(tree)
        place = tree.at
    except ConfigError as error:
        place = error.at

    assert place.startswith("x.yaml")
