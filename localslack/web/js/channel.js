// The middle: a channel with its head, its messages and its composer.

import { attempt } from './api.js';
import { avatar } from './avatar.js';
import { Composer } from './composer.js';
import { clear, fill, h } from './dom.js';
import { icon } from './icons.js';
import { personMenu } from './people.js';
import { go } from './route.js';
import { bot, channelById, channelMessages, channelTitle, markSeen, me, myName, state, changed } from './store.js';
import { drawTimeline, timeline, toEnd } from './timeline.js';
import { t } from './words.js';

const head = h('header', { class: 'pane-head' });
const list = timeline('Messages', 'timeline');
const foot = h('div', { class: 'pane-foot' });

/** composer is the channel's box; the scenes fill it. */
export const composer = new Composer({ testid: 'composer', sent: afterSending });

/** channelPane builds the pane once. */
export function channelPane() {
  return h('main', { class: 'pane channel', data: { testid: 'channel-pane' } }, head, list, foot);
}

/** drawChannel keeps the pane current. */
export function drawChannel() {
  const channel = channelById(state.route.channel);
  if (!channel) return drawNothing();
  markSeen(channel.id);
  fill(head, paneHead(channel));
  drawMessages(channel, channelMessages(channel.id));
  drawFoot(channel);
}

function drawMessages(channel, messages) {
  const was = list.classList.contains('empty');
  list.classList.toggle('empty', messages.length === 0);
  if (was || !messages.length) clear(list.list);
  if (messages.length) drawTimeline(list, messages, 'channel', `${state.route.as}/${channel.id}`);
  else fill(list.list, welcome(channel));
}

function drawNothing() {
  fill(head, backButton(), h('h1', null, t('No channel')), headTools());
  clear(list.list);
  list.classList.add('empty');
  fill(list.list, h('p', { class: 'muted centered' }, t('There is no channel here that you may see.')));
  fill(foot);
  foot.shown = '';
}

function paneHead(channel) {
  const direct = channel.kind === 'im';
  return [
    backButton(),
    h('h1', null, direct ? avatar(bot(), 22) : icon(channel.kind === 'group' ? 'lock' : 'hash', 18), h('span', null, channelTitle(channel))),
    channel.topic && h('p', { class: 'topic', title: t(channel.topic) }, t(channel.topic)),
    headTools(channel),
  ];
}

function backButton() {
  return h('button', { type: 'button', class: 'iconbutton back', 'aria-label': t('Back to channels'), data: { testid: 'back' }, on: { click: () => go({ nav: true }) } }, icon('back', 20));
}

/** headTools are the buttons at the right of a pane's head. */
export function headTools(channel) {
  const who = h('button', { type: 'button', class: 'whoami', 'aria-label': t('You are {name}. Be somebody else', { name: myName() }), data: { testid: 'person-menu', focus: 'person-menu' }, on: { click: () => personMenu(who) } }, avatar(me(), 28));
  return h('div', { class: 'head-tools' },
    channel && channel.kind !== 'im' && h('span', { class: 'members', title: t('{n} members', { n: channel.members.length }) }, channel.members.slice(0, 3).map((id) => avatar(state.snap.people.find((p) => p.id === id), 20)), String(channel.members.length)),
    state.snap.scenes.length > 0 && h('button', { type: 'button', class: 'button small try', 'aria-pressed': String(state.panel === 'try'), data: { testid: 'try-toggle', focus: 'try-toggle' }, on: { click: toggleTry } }, icon('spark', 15), h('span', null, t('Try these'))),
    who);
}

function toggleTry() {
  const open = state.panel === 'try' && !state.route.thread;
  state.panel = open && !narrow() ? '' : 'try';
  state.sheet = narrow() ? !state.sheet : false;
  if (state.route.thread && !narrow()) go({ channel: state.route.channel });
  changed();
}

/** narrow tells whether the page shows one column at a time. */
export function narrow() {
  return matchMedia('(max-width: 760px)').matches;
}

function welcome(channel) {
  const name = channelTitle(channel);
  return h('div', { class: 'welcome' },
    h('h2', null, t(channel.kind === 'im' ? 'Here you and {name} are alone' : 'This is the beginning of #{name}', { name })),
    h('p', null, channel.kind === 'im' ? t('What you write here goes straight to the app.') : t('Mention @{name} to ask it for something. Its answers come as a thread under your message.', { name: bot()?.name })));
}

function drawFoot(channel) {
  const member = channel.members.includes(state.route.as);
  const want = channel.archived ? 'archived' : member ? 'composer' : `join/${channel.id}/${state.route.as}`;
  if (foot.shown !== want) {
    foot.shown = want;
    fill(foot, member && !channel.archived ? composer.el : outside(channel));
  }
  const title = channel.kind === 'im' ? channelTitle(channel) : `#${channel.name}`;
  composer.show({ user: state.route.as, channel: channel.id, thread: '' }, t('Message {place} as {name}', { place: title, name: myName() }));
}

function outside(channel) {
  if (channel.archived) return h('p', { class: 'muted centered' }, t('This channel is archived.'));
  return h('div', { class: 'joinbar' }, h('span', null, t('You are looking at #{name} from outside.', { name: channel.name })),
    h('button', { type: 'button', class: 'button primary', data: { testid: 'join' }, on: { click: () => attempt('join', { channel: channel.id }) } }, t('Join')));
}

// A question to the app is answered in a thread: open it, so that one sees the
// answer come.
function afterSending(message) {
  toEnd(list);
  if (bot() && message.text.includes(`<@${bot().id}`) && channelById(message.channel)?.kind !== 'im') go({ channel: message.channel, thread: message.ts });
}
