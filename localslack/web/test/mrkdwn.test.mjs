import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, parseInline, parseMrkdwn, parsePlain } from '../js/mrkdwn.js';
import { plain, randomText, walk } from './tree.mjs';

const text = (v) => ({ t: 'text', v });

const cases = {
  'bold, italic, strike': ['*b* _i_ ~s~', [{ t: 'b', c: [text('b')] }, text(' '), { t: 'i', c: [text('i')] }, text(' '), { t: 's', c: [text('s')] }]],
  'marks inside words stay': ['2*3*4 snake_case_name', [text('2*3*4 snake_case_name')]],
  'marks beside Chinese letters stay, as in Slack': ['粗*体*字', [text('粗*体*字')]],
  'marks around Chinese words': ['*粗体*，好', [{ t: 'b', c: [text('粗体')] }, text('，好')]],
  'a mark before a space is no mark': ['* item* and *x *', [text('* item* and *x *')]],
  'nested marks': ['*a _b_*', [{ t: 'b', c: [text('a '), { t: 'i', c: [text('b')] }] }]],
  'code keeps marks': ['`*a* &lt;b&gt;`', [{ t: 'code', c: [text('*a* <b>')] }]],
  'escaped controls are text': ['&lt;!channel&gt; &lt;@U1&gt; a&amp;lt;', [text('<!channel> <@U1> a&lt;')]],
  'a person': ['<@U1A>', [{ t: 'user', id: 'U1A', label: null }]],
  'a channel with label': ['<#C1|ops>', [{ t: 'channel', id: 'C1', label: 'ops' }]],
  'a group': ['<!subteam^S1|@m>', [{ t: 'group', id: 'S1', label: '@m' }]],
  'a broadcast': ['<!here>', [{ t: 'cast', name: 'here' }]],
  'a link with label': ['<https://e.test/?a=1&amp;b=2|x &amp; y>', [{ t: 'link', url: 'https://e.test/?a=1&b=2', c: [text('x & y')] }]],
  'a mail address': ['<mailto:a@b.test>', [{ t: 'link', url: 'mailto:a@b.test', c: [text('a@b.test')] }]],
  'a script address is text': ['<javascript:alert(1)|click>', [text('<javascript:alert(1)|click>')]],
  'a data address is text': ['<data:text/html,x>', [text('<data:text/html,x>')]],
  'a bare address': ['see https://e.test/a_b_c, ok', [text('see '), { t: 'link', url: 'https://e.test/a_b_c', c: [text('https://e.test/a_b_c')] }, text(', ok')]],
  'a bare address before Chinese punctuation': ['https://e.test/a。好', [{ t: 'link', url: 'https://e.test/a', c: [text('https://e.test/a')] }, text('。好')]],
  'a date': ['<!date^1700000000^{date} at {time}^https://e.test|then>', [{ t: 'date', unix: 1700000000, format: '{date} at {time}', url: 'https://e.test', fallback: 'then' }]],
  'a broken date shows its fallback': ['<!date^x^{date}|then>', [text('then')]],
  'an emoji': ['a :tada: 10:30:00', [text('a '), { t: 'emoji', name: 'tada' }, text(' 10'), { t: 'emoji', name: '30' }, text('00')]],
  'a quote ends with its lines': ['&gt; a\n&gt; b\nc', [{ t: 'quote', c: [text('a'), { t: 'br' }, text('b')] }, text('c')]],
  'three marks quote all the rest': ['&gt;&gt;&gt; a\nb', [{ t: 'quote', c: [text('a'), { t: 'br' }, text('b')] }]],
  'a fence keeps everything': ['```\n*a*  &amp; `b`\n```', [{ t: 'pre', c: [text('*a*  & `b`')] }]],
  'text around a fence': ['x\n```a```\ny', [text('x'), { t: 'pre', c: [text('a')] }, text('y')]],
  'a fence that never ends is text': ['```a', [text('```a')]],
  'a mark does not end inside a link': ['*<https://e.test/a*b|x>*', [{ t: 'b', c: [{ t: 'link', url: 'https://e.test/a*b', c: [text('x')] }] }]],
};

for (const [name, [input, want]] of Object.entries(cases)) {
  test(name, () => assert.deepEqual(parseMrkdwn(input), want));
}

test('escapes are undone once', () => {
  assert.equal(decode('&amp;lt; &lt; &#39; &quot;'), '&lt; < &#39; &quot;');
});

test('plain text has no marks, only emoji', () => {
  assert.deepEqual(parsePlain('*a* <@U1>\n:eyes:'), [text('*a* <@U1>'), { t: 'br' }, { t: 'emoji', name: 'eyes' }]);
  assert.deepEqual(parsePlain(':eyes:', false), [text(':eyes:')]);
});

test('any text is read without loss, and no link leaves http and mail', () => {
  for (let seed = 1; seed <= 3000; seed++) {
    const input = randomText(seed);
    const nodes = parseMrkdwn(input);
    for (const n of walk(nodes)) if (n.t === 'link') assert.match(n.url, /^(https?:\/\/|mailto:)/i, input);
    if (/[<>|]/.test(input)) continue; // labels stand for what they hide
    for (const letter of 'bc中') assert.equal(count(plain(nodes), letter), count(input, letter), JSON.stringify(input));
  }
});

function count(text, letter) {
  return text.split(letter).length - 1;
}

test('one line is read in time even when it is made to hurt', () => {
  const started = performance.now();
  for (const bad of ['*a '.repeat(4000), '<'.repeat(8000), '`'.repeat(8001), '_'.repeat(8000), 'https://'.repeat(1000), ':a'.repeat(4000)]) parseInline(bad);
  assert.ok(performance.now() - started < 3000);
});
