// Short notes over everything, also over an open modal.

import { h } from './dom.js';
import { icon } from './icons.js';
import { t } from './words.js';

const LIFE = 7000; // ms that a note stays
const SAME = 2000; // ms within which one text said twice is one note: the answer to a click and the stream both bring it
const said = new Map();

/** toast shows one note; kind is "info", "warn" or "error". */
export function toast(text, kind = 'info') {
  if (Date.now() - (said.get(text) ?? 0) < SAME) return;
  said.set(text, Date.now());
  const host = document.getElementById('toasts');
  const el = h('div', { class: `toast ${kind}`, role: kind === 'info' ? 'status' : 'alert', data: { testid: 'toast' } },
    icon(kind === 'info' ? 'check' : 'alert'), h('span', null, text),
    h('button', { class: 'iconbutton', type: 'button', 'aria-label': t('Dismiss'), on: { click: () => el.remove() } }, icon('close', 14)));
  host.append(el);
  rise(host);
  setTimeout(() => el.remove(), LIFE);
}

// A popover that is shown again goes to the top of the top layer.
function rise(host) {
  if (!host.showPopover) return;
  if (host.matches(':popover-open')) host.hidePopover();
  host.showPopover();
}
