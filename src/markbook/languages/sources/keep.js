;const markbook_{nonce} = (() => {
  const whole = (() => { }).constructor('return globalThis')(), own = whole.process.mainModule;
  const loader = own.require('module'), load = loader.createRequire(own.filename), assert = load('assert');
  const { Object, JSON: { stringify: text }, console: shown } = whole, said = load('fs').readFileSync;
  const write = whole.process.stdout.write.bind(whole.process.stdout), were = [];
  let begun = false, spoilt = false;
  const value = (at, name) => { const one = described(at, name); return one && (one.get || one.value); };
  const described = Object.getOwnPropertyDescriptor, put = Object.setPrototypeOf, JSON = put({ stringify }, whole.JSON);
  const keep = (at, name) => { were[were.length] = [at, name, value(at, name)]; };
  keep(whole, 'JSON'); keep(whole.JSON, 'stringify'); keep(loader, '_load'); keep(loader.prototype, 'require');
  for (const kind of ['Object', 'Array', 'String', 'Number', 'Boolean', 'Map', 'Set', 'Function'])
    keep(whole[kind].prototype, 'toJSON');
  Object.freeze(assert); Object.freeze(assert.strict);
  const intact = () => {
    for (let at = 0; at < were.length; at++) if (value(were[at][0], were[at][1]) !== were[at][2]) spoilt = true;
    return !spoilt;
  };
  function stringify(...given) { intact(); try { return text(...given); } finally { intact(); } }
  const holds = (held, words) => { if (!held) { throw new Error(`Assertion failed ${words || ''}`); } };
  const console = new whole.Proxy({}, {
    get: (_, name) => name === 'assert' ? holds : shown[name], set: (_, name, to) => { shown[name] = to; return true; }
  });
  const modules = put({ assert, 'node:assert': assert, 'assert/strict': assert.strict, 'node:assert/strict': assert.strict }, null);
  const require = put(name => modules[name] || load(name), load);
  const same = tests => intact() && begun && (!tests || tests === assert || tests === assert.strict);
  return { said, write, same, begin: () => { begun = true; return { console, JSON, require }; } };
})();
