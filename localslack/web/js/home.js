// The app's Home tab.

import { drawBlock } from './blocks.js';
import { avatar } from './avatar.js';
import { attempt } from './api.js';
import { clear, fill, h, reconcile } from './dom.js';
import { icon } from './icons.js';
import { headTools } from './channel.js';
import { go } from './route.js';
import { bot, state } from './store.js';
import { surfaceFor } from './surface.js';
import { t } from './words.js';

const head = h('header', { class: 'pane-head' });
const body = h('div', { class: 'home-body' });
let opened = '';

/** homePane builds the pane once. */
export function homePane() {
  return h('main', { class: 'pane home', data: { testid: 'home' } }, head, body);
}

/** drawHome keeps the tab current; coming to it tells the app, once a visit. */
export function drawHome() {
  const { as } = state.route;
  fill(head,
    h('button', { type: 'button', class: 'iconbutton back', 'aria-label': t('Back to channels'), data: { testid: 'back' }, on: { click: () => go({ nav: true }) } }, icon('back', 20)),
    h('h1', null, avatar(bot(), 22), h('span', null, bot()?.name ?? 'App'), h('small', null, t('Home'))), headTools());
  if (opened !== as && state.snap.me === as) {
    opened = as;
    attempt('home', {});
  }
  const view = state.snap.home;
  if (!view) {
    clear(body);
    fill(body, h('p', { class: 'muted centered', data: { testid: 'home-empty' } }, t('{name} has not put anything here yet.', { name: bot()?.name })));
    return;
  }
  if (!body.drawn?.size) clear(body);
  const surface = surfaceFor(`home/${view.id}`, { view_id: view.id });
  reconcile(body, view.blocks.map((b, i) => ({ b, i })), {
    key: ({ b, i }) => b.block_id ?? `#${i}`, sig: ({ b }) => JSON.stringify([b, as]), make: ({ b, i }) => drawBlock(b, surface, i),
  });
}

/** leftHome notes that the tab is not on screen, so that the next visit tells the app again. */
export function leftHome() {
  opened = '';
}
