// Draws the tree that mrkdwn.js, markdown.js and richtext.js read.

import { h } from './dom.js';
import { emojiChar } from './emoji.js';
import { formatDate } from './dates.js';
import { channelById, groupById, me, personById } from './store.js';

const DRAW = {
  text: (n) => n.v,
  br: () => h('br'),
  b: (n) => h('strong', null, drawAll(n.c)),
  i: (n) => h('em', null, drawAll(n.c)),
  s: (n) => h('s', null, drawAll(n.c)),
  u: (n) => h('u', null, drawAll(n.c)),
  code: (n) => h('code', null, drawAll(n.c)),
  pre: (n) => h('pre', { class: 'pre' }, drawAll(n.c)),
  quote: (n) => h('blockquote', null, drawAll(n.c)),
  link: (n) => link(n.url, drawAll(n.c)),
  user: (n) => mention(n.id),
  channel: (n) => channelLink(n),
  group: (n) => h('span', { class: 'mention' }, '@' + (groupById(n.id)?.handle ?? (n.label ?? n.id).replace(/^@/, ''))),
  cast: (n) => h('span', { class: 'mention cast' }, '@' + n.name),
  emoji: (n) => emoji(n.name, n.char),
  date: (n) => date(n),
  color: (n) => h('span', { class: 'swatch' }, h('i', { style: { background: n.v } }), n.v),
  p: (n) => h('p', null, drawAll(n.c)),
  h: (n) => h(`h${Math.min(6, n.level + 1)}`, { class: `md-h md-h${n.level}` }, drawAll(n.c)),
  hr: () => h('hr'),
  ul: (n) => h('ul', null, n.items.map((item) => h('li', null, drawAll(item)))),
  ol: (n) => h('ol', { start: n.start }, n.items.map((item) => h('li', null, drawAll(item)))),
  table: (n) => table(n),
};

/** drawAll draws a list of nodes. */
export function drawAll(nodes) {
  return (nodes ?? []).map((n) => DRAW[n.t]?.(n) ?? null);
}

/** link is an anchor only for addresses that are safe to follow; others stay text. */
export function link(url, kids) {
  const own = permalink(url);
  if (own) return h('a', { href: own, title: url }, kids);
  if (!/^(https?:|mailto:)/i.test(url ?? '')) return h('span', { class: 'badlink', title: url }, kids);
  return h('a', { href: url, target: '_blank', rel: 'noopener noreferrer nofollow', title: url }, kids);
}

// A permalink of this server leads to the place on this page.
function permalink(url) {
  const m = url?.startsWith(`${location.origin}/archives/`) && new URL(url).pathname.match(/^\/archives\/(\w+)\/p(\d+)(\d{6})$/);
  return m ? `#/${me()?.id ?? ''}/${m[1]}/${new URL(url).searchParams.get('thread_ts') ?? `${m[2]}.${m[3]}`}` : null;
}

function mention(id) {
  const person = personById(id);
  const classes = id === me()?.id ? 'mention mine' : 'mention';
  return h('span', { class: classes, data: { user: id }, title: person?.real_name || id }, '@' + (person?.name ?? id));
}

function channelLink(n) {
  const channel = channelById(n.id);
  const name = channel?.name ?? n.label ?? n.id;
  if (!channel) return h('span', { class: 'mention' }, '#' + name);
  return h('a', { class: 'mention', href: `#/${me().id}/${n.id}` }, '#' + name);
}

/** emoji draws a short code, or the code itself if this page does not know it. */
export function emoji(name, char = emojiChar(name)) {
  if (!char) return `:${name}:`;
  return h('span', { class: 'emoji', role: 'img', 'aria-label': name.replace(/_/g, ' '), title: `:${name}:` }, char);
}

function date(n) {
  const text = formatDate(n.unix, n.format, me(), n.fallback);
  const iso = Number.isFinite(n.unix) && Math.abs(n.unix) < 8e12 ? new Date(n.unix * 1000).toISOString() : null;
  const el = h('time', { datetime: iso, title: n.fallback || iso }, text);
  return n.url ? link(n.url, el) : el;
}

function table(n) {
  const [head, ...rows] = n.rows;
  const cell = (tag) => (kids, i) => h(tag, { class: `align-${n.align[i] ?? 'left'}` }, drawAll(kids));
  return h('div', { class: 'tablewrap', tabindex: '0' }, h('table', { class: 'grid' },
    h('thead', null, h('tr', null, head.map(cell('th')))),
    h('tbody', null, rows.map((row) => h('tr', null, row.map(cell('td')))))));
}
