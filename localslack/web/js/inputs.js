// Input blocks: label, element, hint, and the error that the app answered.

import { h } from './dom.js';
import { drawElement } from './elements.js';
import { textNodes } from './text.js';
import { t } from './words.js';

const GROUPS = new Set(['checkboxes', 'radio_buttons', 'multi_static_select', 'multi_users_select', 'multi_channels_select', 'multi_conversations_select', 'multi_external_select']);

/** inputBlock draws one input; its error, if any, is in surface.errors under the block's id. */
export function inputBlock(b, surface) {
  const id = `in-${b.block_id}-${b.element?.action_id}`.replace(/[^\w-]/g, '_');
  const grouped = GROUPS.has(b.element?.type);
  const error = surface.errors?.[b.block_id];
  const described = [b.hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  const at = { surface, block: b, dispatch: b.dispatch_action, id, labelledBy: `${id}-label`, describedBy: described || null };
  const control = b.element && drawElement(b.element, at);
  if (error) control?.setAttribute('aria-invalid', 'true');
  return h('div', { class: error ? 'input invalid' : 'input', data: { testid: 'input-block' } },
    h(grouped ? 'span' : 'label', { class: 'label', id: `${id}-label`, for: grouped ? null : id }, textNodes(b.label), b.optional && h('small', null, t(' (optional)'))),
    control,
    error && h('p', { class: 'error', id: `${id}-error`, role: 'alert', data: { testid: 'field-error' } }, error),
    b.hint && h('p', { class: 'hint', id: `${id}-hint` }, textNodes(b.hint)));
}
