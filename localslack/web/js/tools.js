// What one can do with a message: react, reply, edit, delete, dismiss.

import { attempt } from './api.js';
import { h } from './dom.js';
import { icon } from './icons.js';
import { openMenu } from './menu.js';
import { palette } from './reactions.js';
import { go } from './route.js';
import { channelById, me } from './store.js';
import { editing } from './edit.js';
import { asTyped } from './typed.js';
import { t } from './words.js';

/** messageTools draws the bar that shows on hover, on focus and by the dots on a touch screen. */
export function messageTools(m, place) {
  if (m.ephemeral_to) return null;
  // One stop of the Tab key a message: the menu has everything.
  const tool = (name, label, run, testid) => {
    const el = h('button', { type: 'button', class: 'iconbutton', tabindex: testid === 'message-menu' ? null : '-1', title: label, 'aria-label': label, data: { testid }, on: { click: () => run(el) } }, icon(name, 16));
    return el;
  };
  const react = (el) => palette(el, m);
  const reply = () => go({ channel: m.channel, thread: m.thread_ts ?? m.ts });
  const own = m.user === me()?.id && channelById(m.channel) && !m.bot_id;
  const items = [
    { icon: icon('smile', 16), label: t('React'), pick: () => palette(dots, m) },
    place === 'channel' && { icon: icon('reply', 16), label: t('Reply in thread'), pick: reply },
    own && { icon: icon('pencil', 16), label: t('Edit'), pick: () => edit(m), testid: 'edit-message' },
    own && { icon: icon('trash', 16), label: t('Delete'), danger: true, pick: () => attempt('delete', { channel: m.channel, ts: m.ts }), testid: 'delete-message' },
  ].filter(Boolean);
  const dots = tool('more', t('More actions'), (el) => openMenu(el, items, t('Message')), 'message-menu');
  return h('div', { class: 'tools', role: 'toolbar', 'aria-label': t('Message tools') },
    tool('smile', t('React'), react, 'react'), place === 'channel' && tool('reply', t('Reply in thread'), reply, 'reply'), dots);
}

async function edit(m) {
  const text = await editing(asTyped(m));
  if (text !== null) await attempt('edit', { channel: m.channel, ts: m.ts, text });
}
