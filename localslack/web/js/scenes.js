// The right column while no thread is open: things to try.

import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { composer } from './channel.js';
import { go } from './route.js';
import { channelById, nameOf, personById, state } from './store.js';
import { changed } from './store.js';
import { t, word } from './words.js';

const body = h('div', { class: 'scenes' });

/** scenesPane builds the pane once. */
export function scenesPane() {
  return h('section', { class: 'pane try-pane', data: { testid: 'try-panel', 'say-label': 'Try these' } },
    h('header', { class: 'pane-head' }, h('h1', null, icon('spark', 18), word('span', 'Try these')),
      h('div', { class: 'head-tools' }, h('button', { type: 'button', class: 'iconbutton close', data: { 'say-label': 'Close' }, on: { click: close } }, icon('close', 18)))),
    body);
}

function close() {
  state.panel = '';
  state.sheet = false;
  changed();
}

/** drawScenes keeps the list current. */
export function drawScenes() {
  const sig = JSON.stringify([state.route.as, state.snap.scenes, state.snap.people, state.snap.channels]);
  if (body.sig === sig) return;
  body.sig = sig;
  fill(body, state.snap.scenes.map(scene));
}

function scene(s, i) {
  const who = personById(s.as);
  const [, number = String(i + 1), title = t(s.title)] = t(s.title).match(/^(\d+)\s*[·.:]\s*(.+)$/) ?? [];
  return h('article', { class: s.available ? 'scene' : 'scene later', data: { testid: 'scene', scene: String(i + 1) } },
    h('h2', null, h('span', { class: 'number' }, number), title),
    h('blockquote', { class: 'paste' }, s.text),
    s.details && h('p', { class: 'muted' }, t(s.details)),
    s.available
      ? h('div', { class: 'scene-foot' }, h('span', { class: 'muted' }, who ? t('as {name}', { name: nameOf(who) }) : ''), h('button', { type: 'button', class: 'button small primary', data: { testid: 'scene-use' }, on: { click: () => use(s) } }, t('Fill in')))
      : h('p', { class: 'not-yet' }, icon('alert', 14), h('span', null, notYet(s))));
}

function notYet(s) {
  if (/^not (available )?yet/i.test(s.why)) return s.why.charAt(0).toUpperCase() + s.why.slice(1);
  return t('Not yet: {why}', { why: s.why || t('not built so far') });
}

function use(s) {
  state.sheet = false;
  const place = { as: personById(s.as)?.id ?? state.route.as, channel: channelById(s.channel)?.id ?? (s.channel || state.route.channel) };
  const fillIn = () => composer.put(s.text);
  if (place.as === state.route.as && place.channel === state.route.channel && !state.route.thread && !state.route.nav) return fillIn(changed());
  state.pending = { ...place, run: fillIn };
  go(place);
}

/** fillWhenThere fills the composer once the person and the channel of a chosen scene are on screen. */
export function fillWhenThere() {
  const p = state.pending;
  if (!p || state.route.as !== p.as || state.snap.me !== p.as) return;
  state.pending = null;
  p.run();
}
