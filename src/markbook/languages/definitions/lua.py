"""Lua 5.4."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language, Library

_KEEPS = """local markbook_{nonce} = (function()
  local given, next, mark, kind, begun, units = _G, next, setmetatable, type, false, nil
  local loads, ask, hook, path = loadfile, require, debug.sethook, package.searchpath('luaunit', package.path)
  local function copied(from)
    local to = mark({}, { __index = from })
    for name, value in next, from do to[name] = value end
    return to
  end
  local kept = copied(given)
  for name, value in next, kept do if kind(value) == 'table' then kept[name] = copied(value) end end
  kept._G = kept
  kept.require = function(name)
    if name ~= 'luaunit' or not path then return ask(name) end
    units = units or loads(path, 't', kept)(name, path)
    return units
  end
  return function(ends) if not ends then begun = true; hook() end; return begun and kept end
end)() """
_BEFORE = " ".join(line.strip() for line in _KEEPS.splitlines()) + " "
"""Keeps what every program begins with, as it is before the answer runs, and a luaunit that no answer has."""
_BEGINS = "\n;local _ENV = markbook_{nonce}()\n"
"""The tests' own names: what they define is not to be reached by an answer's, and what they call of the language is what it was.
The first sign ends what an answer left open."""
_GOES_ON = "local markbook_exit = os.exit; os.exit = function(code) if code ~= 0 then markbook_exit(code) end end\n"
"""Tests by luaunit end in an exit, behind which nothing could be said any more."""


def lua() -> Language:
    """Return the language."""
    return Language(
        name="lua",
        title="Lua",
        source="main.lua",
        commands=("lua5.4",),
        version=("-v",),
        package="lua5.4",
        run=("{lua5.4}", "{build}/main.lua"),
        folders=("/usr/share/lua",),
        ending=Ending(
            text=(
                "do local said = io.read(32) or ''; local failed = not pcall(function() {claim} end)\n"
                "local held = failed and markbook_{nonce}(true) and '{token}' or '{nonce}'\n"
                "io.write('\\n' .. held .. said .. '\\n') end"
            ),
            claim="error('claim')",
            claims=(("lu.assertEquals", "lu.assertEquals(1, 2)"), ("assert(", "assert(1 == 2)")),
            before=_BEFORE,
            closes=r"(?:\s*end\b)?",
            guards=(
                ("", _BEGINS),
                ("os.exit(lu.LuaUnit.run())", _GOES_ON),
            ),
            catches=True,
        ),
        failures=Failures(
            tests=r"assertion failed|not ok|FAIL|expected: ",
            names=r"\(a nil value\)|attempt to call a nil value",
            syntax=r"^lua5\.4: \S+:\d+: .* near ",
        ),
        libraries=(Library("luaunit", "/usr/share/lua/5.4/luaunit.lua", "lua-unit"),),
        self_test=(
            "local function twice(x) return 2 * x end\n",
            "local function twice(x) return x end\n",
            "assert(twice(2) == 4)\n",
        ),
    )
