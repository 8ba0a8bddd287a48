import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const dir = new URL('../js/', import.meta.url);
const sources = readdirSync(dir).map((name) => [name, readFileSync(new URL(name, dir), 'utf8')]);
const table = sources.find(([name]) => name === 'words.js')[1];
const zh = new Set([...table.matchAll(/(?:^|[,{]\s*)(?:'((?:[^'\\]|\\.)+)'|([A-Za-z]\w*)): '/gm)].map((m) => m[1] ?? m[2]));

const USES = [/\bt\('((?:[^'\\]|\\.)+)'/g, /\bword\('\w+', '((?:[^'\\]|\\.)+)'/g, /'say-label': '((?:[^'\\]|\\.)+)'/g, /\btimeline\('([^']+)'/g, /\bt\([^()']*\? '([^']+)' : '[^']+'/g, /\bt\([^()']*\? '[^']+' : '([^']+)'/g];

test('everything that the page says, it says in Chinese too', () => {
  for (const [name, source] of sources) {
    for (const use of USES) for (const [, text] of source.matchAll(use)) assert.ok(zh.has(text), `${name}: “${text}” has no translation`);
  }
});

test('tables of texts are translated too', () => {
  for (const [file, tables] of [['faults.js', ['FAULTS']], ['api.js', ['EXPLAIN']]]) {
    const source = sources.find(([name]) => name === file)[1];
    for (const name of tables) {
      const body = source.match(new RegExp(`const ${name} = \\{([\\s\\S]*?)\\n\\};`))[1];
      for (const [, text] of body.matchAll(/: '([^']+)'/g)) assert.ok(zh.has(text), `${file}: “${text}” has no translation`);
    }
  }
});

test('a translation fills in the same names', () => {
  for (const [, en, bare, said] of table.matchAll(/(?:'((?:[^'\\]|\\.)+)'|\b([A-Za-z]\w*)): '((?:[^'\\]|\\.)+)'/g)) {
    const names = (text) => [...text.matchAll(/\{\w+\}/g)].map(String).sort().join();
    assert.equal(names(said), names(en ?? bare), en ?? bare);
  }
});
