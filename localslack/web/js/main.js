// Starts the page: loads the snapshot, follows the stream, draws what changed.

import { follow, load } from './api.js';
import { channelPane, drawChannel } from './channel.js';
import { h } from './dom.js';
import { drawHome, homePane, leftHome } from './home.js';
import { drawModal, modalHost } from './modal.js';
import { personInAddress, readRoute, remember } from './route.js';
import { drawScenes, fillWhenThere, scenesPane } from './scenes.js';
import { drawSidebar, sidebar } from './sidebar.js';
import { bot, changed, channelById, me, onChange, state } from './store.js';
import { drawThread, threadPane } from './thread.js';
import { respeak, t, word } from './words.js';

const banner = h('p', { class: 'banner', role: 'note', data: { testid: 'banner' }, hidden: true });
const offline = h('p', { class: 'banner offline', role: 'status', hidden: true }, word('span', 'Not connected. Trying again…'));
const panes = { channel: channelPane(), home: homePane(), thread: threadPane(), try: scenesPane() };
const app = h('div', { class: 'app' }, sidebar(), panes.channel, panes.home, panes.thread, panes.try);

function draw() {
  if (!state.snap || state.snap.me !== state.route.as) return;
  const r = state.route;
  const right = r.thread ? 'thread' : state.panel === 'try' && state.snap.scenes.length ? 'try' : '';
  banner.textContent = t(state.snap.banner);
  banner.hidden = !state.snap.banner;
  offline.hidden = state.online;
  Object.assign(app.dataset, { main: r.home ? 'home' : 'channel', right, nav: String(r.nav), sheet: String(Boolean(state.sheet)) });
  document.title = `${r.home ? bot()?.name : channelById(r.channel)?.name ?? 'local Slack'} · ${state.snap.team.name}`;
  document.documentElement.lang = me()?.locale?.startsWith('zh') ? 'zh-CN' : 'en';
  drawSidebar();
  if (r.home) drawHome();
  else leftHome(drawChannel());
  drawThread();
  drawScenes();
  drawModal();
  fillWhenThere();
  respeak();
  document.body.dataset.ready = state.snap.me;
}

async function moved() {
  const before = state.route.as;
  readRoute();
  if (state.route.as && state.route.as !== (before || state.snap.me)) await be(state.route.as);
}

async function be(user) {
  await load(user).catch(() => load('')); // somebody who is no longer here: whoever comes first
  readRoute();
  remember(state.snap.me);
  follow(state.snap.me);
}

async function start() {
  document.body.append(offline, banner, app, modalHost());
  onChange(draw);
  await be(personInAddress());
  addEventListener('hashchange', moved);
  changed();
}

start().catch((err) => {
  document.body.append(h('p', { class: 'banner offline', role: 'alert' }, `The page could not start: ${err.message}`));
});
