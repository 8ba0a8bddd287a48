// Editing one's own message.

import { h } from './dom.js';
import { enterSends } from './enter.js';
import { t } from './words.js';

/** editing asks for the new text and resolves to it, or to null if it stays as it is. */
export function editing(text) {
  return new Promise((resolve) => {
    const area = h('textarea', { class: 'field', rows: '4', 'aria-label': t('Message'), autofocus: true, value: text, data: { testid: 'edit-text' } });
    const done = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const save = () => done(area.value.trim() && area.value !== text ? area.value : null);
    const dialog = h('dialog', { class: 'modal confirm', 'aria-label': t('Edit the message'), on: { cancel: () => done(null) } },
      h('header', null, h('h2', null, t('Edit the message'))),
      h('div', { class: 'modal-body' }, area),
      h('footer', null,
        h('button', { type: 'button', class: 'button', on: { click: () => done(null) } }, t('Cancel')),
        h('button', { type: 'button', class: 'button primary', data: { testid: 'edit-save' }, on: { click: save } }, t('Save'))));
    enterSends(area, save);
    document.body.append(dialog);
    dialog.showModal();
  });
}
