// One message: author, blocks or text, files, reactions, thread line, tools.

import { avatar } from './avatar.js';
import { drawBlocks } from './blocks.js';
import { clock, fullTime } from './dates.js';
import { h } from './dom.js';
import { drawFile } from './files.js';
import { icon } from './icons.js';
import { drawAll } from './inline.js';
import { parseMarkdown } from './markdown.js';
import { parseMrkdwn } from './mrkdwn.js';
import { reactionRow } from './reactions.js';
import { me, nameOf, personById } from './store.js';
import { surfaceFor } from './surface.js';
import { taskCard } from './tasks.js';
import { messageTools } from './tools.js';
import { threadLine } from './threadline.js';
import { t } from './words.js';

/** drawMessage draws an entry {m, grouped, replies, place}; place is "channel" or "thread". */
export function drawMessage(entry) {
  const { m, grouped, place } = entry;
  const author = personById(m.user);
  return h('article', {
    class: ['message', grouped && 'grouped', m.ephemeral_to && 'ephemeral', m.streaming === 'in_progress' && 'streaming'].filter(Boolean).join(' '),
    tabindex: '-1', 'aria-label': `${author?.name ?? m.user}, ${clock(m.ts, me())}`,
    data: { testid: 'message', ts: m.ts, channel: m.channel, thread: m.thread_ts, user: m.user, ephemeral: m.ephemeral_to ? 'true' : null, version: m.version },
  },
  h('div', { class: 'gutter' }, grouped ? h('time', null, clock(m.ts, me()).replace(/\s?[AP]M$/i, '')) : avatar(author)),
  h('div', { class: 'content' },
    m.ephemeral_to && h('div', { class: 'only-you' }, icon('eye', 14), t('Only visible to you')),
    !grouped && byline(m, author),
    m.broadcast && m.thread_ts !== m.ts && place === 'channel' && h('div', { class: 'replied' }, t('replied to a thread')),
    body(m),
    reactionRow(m),
    place === 'channel' && threadLine(m, entry.replies)),
  messageTools(m, place));
}

function byline(m, author) {
  return h('div', { class: 'byline' },
    h('b', { class: 'author' }, author?.is_bot ? author.name : nameOf(author) || m.user),
    author?.is_bot && h('span', { class: 'badge' }, 'APP'),
    author?.is_stranger && h('span', { class: 'badge' }, 'OUTSIDER'),
    h('time', { class: 'when', title: fullTime(m.ts, me()) }, clock(m.ts, me())));
}

/** body draws what the message says: its blocks, or its text where it has none. */
function body(m) {
  const surface = surfaceFor(`message/${m.channel}/${m.ts}/${me()?.id}`, { channel: m.channel, ts: m.ts });
  return h('div', { class: 'message-body' }, m.streaming ? streamed(m, surface) : said(m, surface),
    (m.attachments ?? []).map((a) => attachment(a, surface)),
    (m.files ?? []).map(drawFile),
    m.edited && h('span', { class: 'edited' }, t('(edited)')));
}

function said(m, surface) {
  if (m.blocks?.length) return drawBlocks(m.blocks, surface);
  return m.text && h('div', { class: 'rich text' }, drawAll(parseMrkdwn(m.text)));
}

// A streamed message is Markdown, with its tasks above and other blocks below.
function streamed(m, surface) {
  const tasks = (m.blocks ?? []).filter((b) => b.type === 'task_card');
  const rest = (m.blocks ?? []).filter((b) => b.type !== 'task_card');
  return [
    tasks.length > 0 && h('div', { class: 'plan lone' }, tasks.map(taskCard)),
    m.text && h('div', { class: 'rich markdown' }, drawAll(parseMarkdown(m.text))),
    drawBlocks(rest, surface),
  ];
}

function attachment(a, surface) {
  const el = h('div', { class: 'attachment' },
    a.pretext && h('div', { class: 'text' }, drawAll(parseMrkdwn(a.pretext))),
    a.title && h('b', null, a.title),
    a.text && h('div', { class: 'text' }, drawAll(parseMrkdwn(a.text))),
    drawBlocks(a.blocks, surface));
  if (/^#?[0-9a-f]{6}$/i.test(a.color ?? '')) el.style.borderColor = `#${a.color.replace('#', '')}`;
  return el;
}
