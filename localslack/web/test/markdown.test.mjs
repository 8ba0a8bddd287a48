import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMarkdown, parseSpan } from '../js/markdown.js';
import { randomText, walk } from './tree.mjs';

const text = (v) => ({ t: 'text', v });
const p = (...c) => ({ t: 'p', c });

const cases = {
  'headings': ['# A\n### B', [{ t: 'h', level: 1, c: [text('A')] }, { t: 'h', level: 3, c: [text('B')] }]],
  'paragraphs and line breaks': ['a\nb\n\nc', [p(text('a'), { t: 'br' }, text('b')), p(text('c'))]],
  'a list in a list': ['- a\n  - b\n- c', [{ t: 'ul', start: 1, items: [[text('a'), { t: 'ul', start: 1, items: [[text('b')]] }], [text('c')]] }]],
  'numbers start where they start': ['3. a\n4. b', [{ t: 'ol', start: 3, items: [[text('a')], [text('b')]] }]],
  'a quote holds blocks': ['> a\n> - b', [{ t: 'quote', c: [p(text('a')), { t: 'ul', start: 1, items: [[text('b')]] }] }]],
  'a fence keeps its text': ['```sql\nSELECT *;\n```\nx', [{ t: 'pre', c: [text('SELECT *;')] }, p(text('x'))]],
  'a fence that never ends': ['```\na', [{ t: 'pre', c: [text('a')] }]],
  'a rule': ['a\n\n---\nb', [p(text('a')), { t: 'hr' }, p(text('b'))]],
  'a table': ['| a | b |\n|---|--:|\n| 1 | 2\\|3 |', [{ t: 'table', align: ['left', 'right'], rows: [[[text('a')], [text('b')]], [[text('1')], [text('2|3')]]] }]],
  'a line with a bar is no table': ['a | b', [p(text('a | b'))]],
};

for (const [name, [input, want]] of Object.entries(cases)) {
  test(name, () => assert.deepEqual(parseMarkdown(input), want));
}

const spans = {
  'strong, emphasis, struck': ['**b** *i* _i_ ~~s~~', [{ t: 'b', c: [text('b')] }, text(' '), { t: 'i', c: [text('i')] }, text(' '), { t: 'i', c: [text('i')] }, text(' '), { t: 's', c: [text('s')] }]],
  'strong beside Chinese': ['余额**42**元', [text('余额'), { t: 'b', c: [text('42')] }, text('元')]],
  'snake case': ['snake_case_name', [text('snake_case_name')]],
  'escapes': ['\\*no\\*', [text('*no*')]],
  'code': ['`a*b*`', [{ t: 'code', c: [text('a*b*')] }]],
  'a link': ['[x](https://e.test/a_(b))', [{ t: 'link', url: 'https://e.test/a_(b)', c: [text('x')] }]],
  'a script address is text': ['[x](javascript:alert(1))', [text('[x](javascript:alert(1))')]],
  'markup is text': ['<b>x</b>', [text('<b>'), text('x'), text('</b>')]],
  'a mention': ['<@U1>', [{ t: 'user', id: 'U1', label: null }]],
};

for (const [name, [input, want]] of Object.entries(spans)) {
  test(name, () => assert.deepEqual(parseSpan(input), want));
}

test('any text is read, and no link leaves http and mail', () => {
  for (let seed = 1; seed <= 3000; seed++) {
    for (const n of walk(parseMarkdown(randomText(seed)))) if (n.t === 'link') assert.match(n.url, /^(https?:\/\/|mailto:)/i);
  }
});

test('a text is read in time even when it is made to hurt', () => {
  const started = performance.now();
  for (const bad of ['**a '.repeat(3000), '['.repeat(6000), '`'.repeat(6001), '> '.repeat(500), '|a'.repeat(3000) + '\n|-|']) parseMarkdown(bad);
  assert.ok(performance.now() - started < 5000);
});
