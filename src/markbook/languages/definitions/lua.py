"""Lua 5.4."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language, Library

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
                "do local said = io.read(32) or ''; local held = pcall(function() {claim} end) and '{nonce}' or '{token}'\n"
                "io.write('\\n' .. held .. said .. '\\n') end"
            ),
            claim="error('claim')",
            claims=(("lu.assertEquals", "lu.assertEquals(1, 2)"), ("assert(", "assert(1 == 2)")),
            guards=(("os.exit(lu.LuaUnit.run())", _GOES_ON),),
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
