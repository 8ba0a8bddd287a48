import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRichText } from '../js/richtext.js';

const text = (v) => ({ t: 'text', v });
const section = (...elements) => ({ type: 'rich_text_section', elements });
const word = (v, style) => ({ type: 'text', text: v, style });
const read = (...elements) => parseRichText({ type: 'rich_text', elements });

test('styles wrap from the inside out', () => {
  assert.deepEqual(read(section(word('x', { bold: true, code: true }))), [{ t: 'p', c: [{ t: 'b', c: [{ t: 'code', c: [text('x')] }] }] }]);
});

test('line breaks of a section are breaks, those of preformatted text stay', () => {
  assert.deepEqual(read(section(word('a\nb'))), [{ t: 'p', c: [text('a'), { t: 'br' }, text('b')] }]);
  assert.deepEqual(read({ type: 'rich_text_preformatted', elements: [word('a\nb')] }), [{ t: 'pre', c: [text('a\nb')] }]);
});

test('lists nest by their indent and go back', () => {
  const list = (indent, ...items) => ({ type: 'rich_text_list', style: 'bullet', indent, elements: items.map((v) => section(word(v))) });
  const [top, ...rest] = read(list(0, 'a', 'b'), list(1, 'c'), list(2, 'd'), list(1, 'e'), list(0, 'f'));
  const inner = top.items[1][1];
  assert.equal(inner.items[0][0].v, 'c');
  assert.equal(inner.items[0][1].items[0][0].v, 'd');
  assert.equal(top.items[1][2].items[0][0].v, 'e');
  assert.equal(rest.length, 1);
});

test('an ordered list goes on after its offset', () => {
  assert.equal(read({ type: 'rich_text_list', style: 'ordered', offset: 4, elements: [] })[0].start, 5);
});

test('mentions, dates, emoji, colours', () => {
  const [{ c }] = read(section(
    { type: 'user', user_id: 'U1' }, { type: 'usergroup', usergroup_id: 'S1' }, { type: 'broadcast', range: 'here' },
    { type: 'date', timestamp: 1700000000, format: '{date}', fallback: 'f' }, { type: 'emoji', name: 'x', unicode: '1f44d' }, { type: 'color', value: '#ff0000' }, { type: 'color', value: 'red;x' }));
  assert.deepEqual(c, [
    { t: 'user', id: 'U1' }, { t: 'group', id: 'S1' }, { t: 'cast', name: 'here' },
    { t: 'date', unix: 1700000000, format: '{date}', url: null, fallback: 'f' }, { t: 'emoji', name: 'x', char: '👍' }, { t: 'color', v: '#ff0000' }, text('red;x')]);
});

test('an element from the future shows its text', () => {
  assert.deepEqual(read(section({ type: 'hologram', text: 'hi' }), { type: 'rich_text_wall' }), [{ t: 'p', c: [text('hi')] }]);
});
