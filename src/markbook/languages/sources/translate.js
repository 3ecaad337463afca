const fs = require('fs'), path = require('path');
const ts = require(path.resolve(process.argv[1], '../../lib/typescript.js'));
const compilerOptions = { target: ts.ScriptTarget.ES2020, module: ts.ModuleKind.CommonJS };
const translated = text => ts.transpileModule(text, { compilerOptions }).outputText;
