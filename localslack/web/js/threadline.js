// The line under a message that opens its thread.

import { avatar } from './avatar.js';
import { clock } from './dates.js';
import { h } from './dom.js';
import { go } from './route.js';
import { bot, me, personById, statusesOf } from './store.js';
import { t } from './words.js';

/** threadLine draws faces, number of replies and what the bot is doing there; nothing if there are none. */
export function threadLine(m, replies) {
  const status = statusOf(m.channel, m.thread_ts ?? m.ts);
  const own = replies ?? [];
  if (!own.length && !status) return null;
  const faces = [...new Set(own.map((r) => r.user))].slice(0, 4);
  const count = own.length === 1 ? t('1 reply') : t('{n} replies', { n: own.length });
  return h('button', {
    type: 'button', class: 'threadline', data: { testid: 'open-thread', focus: `thread/${m.ts}` },
    on: { click: () => go({ channel: m.channel, thread: m.thread_ts ?? m.ts }) },
  },
  faces.map((id) => avatar(personById(id), 22)),
  own.length > 0 && h('b', null, count),
  status ? statusNote(status) : own.length > 0 && h('span', { class: 'muted' }, t('last at {time}', { time: clock(own.at(-1).ts, me()) })));
}

/** statusOf is what the bot says it is doing in a thread, or null. */
export function statusOf(channel, root) {
  return statusesOf(channel).find((s) => s.thread_ts === root) ?? null;
}

/** statusNote draws "countersign is thinking…" with moving dots. */
export function statusNote(status) {
  return h('span', { class: 'status', data: { testid: 'status' } }, h('i', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i')), `${bot()?.name ?? 'The bot'} ${status.text}`);
}
