"""Parts are found by name, and an unknown name is answered with the nearest ones."""

import pytest
from support.paths import ROOT

from markbook import errors, plugins
from markbook.errors import ConfigError, ExtraMissingError, UsageError


def test_unknown_kind_is_refused():
    with pytest.raises(UsageError, match="unknown kind of plugin 'metric'"):
        plugins.names("metric")


def test_unknown_name_gets_a_suggestion():
    assert errors.suggest("blue", ["bleu", "rouge1"]) == "did you mean 'bleu'?"


def test_dotted_name_imports_a_factory():
    assert plugins.factory("metrics", "collections:Counter", allow_code=True)() == {}


@pytest.mark.parametrize("kind", plugins.KINDS)
def test_dotted_name_is_refused_unless_the_caller_allows_code(kind):
    with pytest.raises(ConfigError, match="--allow-code"):
        plugins.factory(kind, "collections:Counter")
    with pytest.raises(ConfigError, match="--allow-code"):
        plugins.create(kind, "collections:Counter", allow_code=True)


@pytest.mark.parametrize("kind", [kind for kind in plugins.KINDS if kind != "loaders"])
def test_what_is_no_part_of_its_kind_is_refused_by_what_it_lacks(kind):
    with pytest.raises(ConfigError, match=r"makes no .* but 'Counter'.*it lacks"):
        plugins.create_typed(kind, "collections:Counter")


def test_a_factory_that_fails_is_named_with_its_own_error():
    with pytest.raises(ConfigError, match="cannot be made: ValueError: bad"):
        plugins.create_typed("engines", "test_plugins:failing")


def failing():
    raise ValueError("bad")


def test_broken_plugin_is_named_with_its_own_error():
    with pytest.raises(ConfigError, match="cannot be loaded: AttributeError"):
        plugins.factory("metrics", "collections:NoSuchThing", allow_code=True)


def test_missing_extra_is_answered_with_the_install_line():
    with pytest.raises(ExtraMissingError, match=r"pip install 'markbook\[agents\]'"):
        plugins.need("no_such_package_at_all", extra="agents")


class _Reader:
    def __init__(self, confidence):
        self.confidence = confidence

    def sniff(self, probe):
        return self.confidence


def test_the_surest_readers_get_a_file():
    readers = {"a": _Reader(40), "b": _Reader(90), "c": _Reader(90), "d": _Reader("very")}

    assert plugins.detect("traces", readers, None) == ["b", "c"]
    assert plugins.detect("traces", readers, None, least=91) == []
    assert plugins.detect("traces", {"a": _Reader(0)}, None) == []
    assert plugins.detect("traces", {}, None) == []


def test_readers_are_asked_in_one_place():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "markbook").rglob("*.py")}

    assert [path.name for path, source in sources.items() if ".sniff(" in source] == ["plugins.py"]
