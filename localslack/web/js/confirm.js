// The confirmation dialog of an element.

import { h } from './dom.js';
import { textNodes } from './text.js';
import { t } from './words.js';

/** confirmed asks and resolves to whether the person agreed. */
export function confirmed(spec) {
  return new Promise((resolve) => {
    const done = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const style = spec.style === 'danger' ? 'danger' : 'primary';
    const dialog = h('dialog', { class: 'modal confirm', 'aria-labelledby': 'confirm-title', data: { testid: 'confirm' }, on: { cancel: () => done(false) } },
      h('header', null, h('h2', { id: 'confirm-title' }, textNodes(spec.title))),
      h('div', { class: 'modal-body' }, h('p', null, textNodes(spec.text))),
      h('footer', null,
        h('button', { type: 'button', class: 'button', data: { testid: 'confirm-deny' }, on: { click: () => done(false) } }, textNodes(spec.deny ?? { type: 'plain_text', text: t('Cancel') })),
        h('button', { type: 'button', class: `button ${style}`, autofocus: true, data: { testid: 'confirm-accept' }, on: { click: () => done(true) } }, textNodes(spec.confirm ?? { type: 'plain_text', text: t('Yes') }))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
