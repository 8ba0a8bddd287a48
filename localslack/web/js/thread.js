// The right column while a thread is open.

import { Composer } from './composer.js';
import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { go } from './route.js';
import { channelById, channelTitle, myName, state, threadMessages } from './store.js';
import { statusNote, statusOf } from './threadline.js';
import { drawTimeline, timeline, toEnd } from './timeline.js';
import { t } from './words.js';

const head = h('header', { class: 'pane-head' });
const list = timeline('Thread', 'thread-timeline');
const status = h('div', { class: 'typing', 'aria-live': 'polite' });
const foot = h('div', { class: 'pane-foot' });
const composer = new Composer({ testid: 'thread-composer', sent: () => toEnd(list) });

/** threadPane builds the pane once. */
export function threadPane() {
  return h('section', { class: 'pane thread', data: { testid: 'thread-panel', 'say-label': 'Thread' }, on: { keydown: leave } }, head, list, status, foot);
}

function leave(e) {
  if (e.key === 'Escape' && !e.defaultPrevented && !e.target.closest('dialog, [popover]')) close();
}

function close() {
  go({ channel: state.route.channel });
}

/** drawThread keeps the pane current. */
export function drawThread() {
  const { channel: id, thread: root } = state.route;
  const channel = channelById(id);
  if (!channel || !root) return;
  fill(head,
    h('button', { type: 'button', class: 'iconbutton back', 'aria-label': t('Back to the channel'), data: { testid: 'thread-back' }, on: { click: close } }, icon('back', 20)),
    h('h1', null, t('Thread'), h('small', null, channel.kind === 'im' ? channelTitle(channel) : `#${channel.name}`)),
    h('div', { class: 'head-tools' }, h('button', { type: 'button', class: 'iconbutton close', 'aria-label': t('Close the thread'), data: { testid: 'thread-close', focus: 'thread-close' }, on: { click: close } }, icon('close', 18))));
  drawTimeline(list, withRoot(threadMessages(id, root), id, root), 'thread', `${state.route.as}/${id}/${root}`);
  const now = statusOf(id, root);
  fill(status, now && statusNote(now));
  drawFoot(channel, root);
}

// The replies outlive a deleted root.
function withRoot(messages, channel, root) {
  if (messages.some((m) => m.ts === root)) return messages;
  return [{ channel, ts: root, user: '', text: t('_This message was deleted._'), version: 0 }, ...messages];
}

function drawFoot(channel, root) {
  const may = channel.members.includes(state.route.as) && !channel.archived;
  if (foot.shown !== may) {
    foot.shown = may;
    fill(foot, may ? composer.el : h('p', { class: 'muted centered' }, t('Only members can reply here.')));
  }
  composer.show({ user: state.route.as, channel: channel.id, thread: root }, t('Reply as {name}', { name: myName() }));
}
