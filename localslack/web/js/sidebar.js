// The left column: the workspace, who you are, the channels and the app.

import { attempt } from './api.js';
import { avatar } from './avatar.js';
import { h, reconcile } from './dom.js';
import { faultMenu } from './faults.js';
import { icon } from './icons.js';
import { drawPeople } from './people.js';
import { go } from './route.js';
import { bot, channelTitle, state, unseen } from './store.js';
import { themeButton } from './theme.js';
import { t, word } from './words.js';

const people = h('div', { class: 'people', role: 'radiogroup', data: { testid: 'person-switch', 'say-label': 'You are' } });
const channels = h('nav', { class: 'channels', data: { 'say-label': 'Channels' } });
const apps = h('nav', { class: 'channels', data: { 'say-label': 'App' } });
const team = h('b');
const breaker = h('button', { type: 'button', class: 'place breaker', data: { testid: 'faults' }, on: { click: () => faultMenu(breaker) } }, icon('bolt', 15), word('span', 'Break something'));

/** sidebar builds the column once; drawSidebar keeps it current. */
export function sidebar() {
  return h('aside', { class: 'sidebar', id: 'nav' },
    h('header', { class: 'team' }, h('div', null, team, word('small', 'local Slack · this machine only')), themeButton()),
    word('h2', 'You are'), people,
    word('h2', 'Channels'), channels,
    word('h2', 'App'), apps, breaker);
}

export function drawSidebar() {
  team.textContent = state.snap.team.name;
  drawPeople(people);
  reconcile(channels, state.snap.channels.filter((c) => c.kind !== 'im'), { key: (c) => c.id, sig: channelSig, make: channelLink });
  reconcile(apps, appEntries(), { key: (e) => e.key, sig: (e) => e.sig, make: (e) => e.make() });
}

function channelSig(c) {
  return JSON.stringify([c.name, c.kind, c.archived, c.id === state.route.channel, state.route.as, c.members.includes(state.route.as), unseen(c.id)]);
}

function channelLink(c) {
  const current = c.id === state.route.channel;
  const count = current ? 0 : unseen(c.id);
  return h('a', {
    class: ['place', count && 'unseen', !c.members.includes(state.route.as) && 'outside'].filter(Boolean).join(' '),
    href: `#/${state.route.as}/${c.id}`, 'aria-current': current ? 'page' : null, data: { testid: 'channel', channel: c.id, name: c.name, focus: `channel/${c.id}` },
  }, icon(c.kind === 'group' ? 'lock' : 'hash', 16), h('span', null, c.name), c.archived && h('small', null, t('archived')), c.ext_shared && h('small', null, t('shared')), count > 0 && h('span', { class: 'count' }, String(count)));
}

function appEntries() {
  const app = bot();
  const direct = state.snap.channels.find((c) => c.kind === 'im');
  const entry = (key, current, kids, open) => ({
    key, sig: JSON.stringify([state.route.as, current, app?.name, direct && unseen(direct.id), state.snap.sockets > 0]),
    make: () => h('button', { type: 'button', class: 'place', 'aria-current': current ? 'page' : null, data: { testid: key, focus: key }, on: { click: open } }, kids()),
  });
  const count = direct && direct.id !== state.route.channel ? unseen(direct.id) : 0;
  return [
    entry('app-home', state.route.home, () => [icon('home', 16), h('span', null, t('Home tab'))], () => go({ home: true, channel: '' })),
    entry('app-direct', Boolean(direct) && direct.id === state.route.channel, () => [avatar(app, 18), h('span', null, direct ? channelTitle(direct) : app?.name ?? 'app'), presence(), count > 0 && h('span', { class: 'count' }, String(count))], () => openDirect(direct)),
  ];
}

// Whether the app listens at all: what one sees first when it was stopped.
function presence() {
  const on = state.snap.sockets > 0;
  const label = t(on ? 'The app is connected' : 'The app is not connected');
  return h('span', { class: on ? 'presence on' : 'presence', role: 'img', 'aria-label': label, title: label, data: { testid: 'presence' } });
}

async function openDirect(direct) {
  const id = direct?.id ?? (await attempt('direct', {}))?.channel?.id;
  if (id) go({ channel: id });
}
