local markbook_{nonce} = (function()
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
end)()
