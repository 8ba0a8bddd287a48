// A list of messages with its day dividers, kept at the bottom like a chat.

import { dayOf } from './dates.js';
import { h, reconcile } from './dom.js';
import { drawMessage } from './message.js';
import { me, state, statusesOf } from './store.js';

const GROUP_SECONDS = 300; // one author's messages within five minutes share one byline
const NEAR_BOTTOM = 120;   // px from the end that count as "at the end"

/** timeline makes the scrolling box of a conversation, which stays at its end until somebody scrolls up. */
export function timeline(label, testid) {
  const list = h('div', { class: 'timeline-list' });
  const box = h('div', { class: 'timeline', role: 'log', tabindex: '0', data: { testid, 'say-label': label } }, list);
  box.list = list;
  box.pinned = true;
  box.addEventListener('scroll', () => { box.pinned = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_BOTTOM; });
  const settle = new ResizeObserver(() => { if (box.pinned) toEnd(box); });
  settle.observe(list); // pictures and fonts come late
  settle.observe(box); // a growing composer takes room away
  return box;
}

/** toEnd scrolls to the newest message. */
export function toEnd(box) {
  box.pinned = true;
  box.scrollTop = box.scrollHeight;
}

/** drawTimeline shows messages in a box made by timeline; place is "channel" or "thread", where names the conversation. */
export function drawTimeline(box, messages, place, where) {
  const stay = box.where !== where || box.pinned;
  const names = state.snap.people.map((p) => p.name + p.real_name).join() + state.route.as;
  reconcile(box.list, entries(messages, place), {
    key: (e) => e.key,
    sig: (e) => e.day ?? JSON.stringify([e, names, statusSig(e)]),
    make: (e) => (e.day ? divider(e.day) : drawMessage(e)),
  });
  box.where = where;
  if (stay) toEnd(box);
}

function statusSig({ m }) {
  return statusesOf(m.channel).filter((s) => s.thread_ts === (m.thread_ts ?? m.ts)).map((s) => s.text).join();
}

function entries(messages, place) {
  const out = [];
  let before = null;
  let day = '';
  for (const m of messages) {
    const today = dayOf(m.ts, me());
    if (today !== day && place === 'channel') out.push({ key: `day/${today}`, day: today });
    const grouped = today === day && groups(before, m, place);
    out.push({ key: m.ts, m, grouped, place, replies: place === 'channel' ? replies(m) : null });
    day = today;
    before = m;
  }
  return out;
}

function groups(before, m, place) {
  return before && before.user === m.user && m.ts - before.ts < GROUP_SECONDS && !m.ephemeral_to && !before.ephemeral_to && !(place === 'channel' && (m.broadcast || before.broadcast));
}

function replies(m) {
  if (m.thread_ts && m.thread_ts !== m.ts) return [];
  return (state.snap.messages[m.channel] ?? []).filter((r) => r.thread_ts === m.ts && r.ts !== m.ts).map(({ ts, user }) => ({ ts, user }));
}

function divider(day) {
  return h('div', { class: 'day', role: 'separator' }, h('span', null, day));
}
