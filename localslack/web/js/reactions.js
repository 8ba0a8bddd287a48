// Reactions under a message, and the little palette to add one.

import { attempt } from './api.js';
import { h } from './dom.js';
import { QUICK, emojiChar } from './emoji.js';
import { icon } from './icons.js';
import { emoji } from './inline.js';
import { openPanel } from './menu.js';
import { me, personById } from './store.js';
import { t } from './words.js';

/** reactionRow draws the reactions that a message has, or nothing. */
export function reactionRow(m) {
  if (!m.reactions?.length) return null;
  return h('div', { class: 'reactions' }, m.reactions.map((r) => reaction(m, r)), adder(m));
}

function reaction(m, r) {
  const mine = r.users.includes(me()?.id);
  const names = r.users.map((id) => personById(id)?.name ?? id).join(', ');
  return h('button', {
    type: 'button', class: mine ? 'reaction mine' : 'reaction', 'aria-pressed': String(mine), title: `${names} reacted with :${r.name}:`,
    data: { testid: 'reaction', name: r.name, focus: `react/${m.ts}/${r.name}` },
    on: { click: () => attempt('react', { channel: m.channel, ts: m.ts, name: r.name, remove: mine }) },
  }, emoji(r.name), h('span', null, String(r.users.length)));
}

function adder(m) {
  const el = h('button', { type: 'button', class: 'reaction add', 'aria-label': t('Add a reaction'), on: { click: () => palette(el, m) } }, icon('smile', 15));
  return el;
}

/** palette opens the emoji to choose from. */
export function palette(anchor, m) {
  const panel = openPanel(anchor, QUICK.map((name) => h('button', {
    type: 'button', class: 'pick', title: `:${name}:`, 'aria-label': name, data: { name },
    on: { click: () => { panel.hidePopover(); attempt('react', { channel: m.channel, ts: m.ts, name }); } },
  }, emojiChar(name))), t('Add a reaction'));
  panel.classList.add('palette');
}
