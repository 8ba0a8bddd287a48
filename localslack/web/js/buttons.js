// Elements that are pressed: buttons, icon buttons, feedback, overflow menus.

import { h } from './dom.js';
import { icon } from './icons.js';
import { link } from './inline.js';
import { openMenu } from './menu.js';
import { me } from './store.js';
import { plainText, textNodes } from './text.js';
import { t } from './words.js';

/** hooks are the attributes by which tests find an element, and focus finds it back after a redraw. */
export function hooks(block, element) {
  return { 'action-id': element.action_id, 'block-id': block.block_id, focus: `${block.block_id}/${element.action_id}` };
}

const STYLE = { primary: 'primary', danger: 'danger' };

/** button draws a button; one with a url is a link that still reports its press. */
export function button(element, { surface, block }) {
  const el = h(element.url ? 'a' : 'button', {
    class: `button ${STYLE[element.style] ?? ''}`, type: element.url ? null : 'button',
    href: /^https?:/i.test(element.url ?? '') ? element.url : null, target: element.url ? '_blank' : null, rel: element.url ? 'noopener noreferrer' : null,
    'aria-label': element.accessibility_label, data: { testid: 'button', ...hooks(block, element) },
    on: { click: () => surface.press(el, block, element) },
  }, textNodes(element.text));
  if (surface.busy.has(`${block.block_id}/${element.action_id}`)) el.setAttribute('aria-busy', 'true');
  return el;
}

const ICONS = { trash: 'trash', pencil: 'pencil', edit: 'pencil', share: 'link', copy: 'file' };

/** iconButton draws an icon_button unless it is meant for other people only. */
export function iconButton(element, { surface, block }) {
  const only = element.visible_to_user_ids;
  if (only?.length && !only.includes(me()?.id)) return null;
  const label = element.accessibility_label || plainText(element.text);
  const el = h('button', {
    class: 'iconbutton', type: 'button', 'aria-label': label, title: label, data: hooks(block, element),
    on: { click: () => surface.press(el, block, element) },
  }, icon(ICONS[element.icon] ?? 'bolt', 16));
  return el;
}

/** feedback draws the pair of thumbs; the one pressed stays marked. */
export function feedback(element, { surface, block }) {
  const key = `feedback/${block.block_id}/${element.action_id}`;
  const half = (spec, name, shape) => {
    const el = h('button', {
      class: 'iconbutton thumb', type: 'button', title: plainText(spec.text), 'aria-label': spec.accessibility_label || plainText(spec.text),
      'aria-pressed': String(surface.ui[key] === name), data: { ...hooks(block, element), feedback: name },
      on: { click: () => {
        surface.ui[key] = name;
        for (const b of el.parentElement.children) b.setAttribute('aria-pressed', String(b === el));
        surface.press(el, block, element, { selected: { value: spec.value, text: spec.text } });
      } },
    }, icon(shape, 16));
    return el;
  };
  return h('span', { class: 'feedback', role: 'group' },
    element.positive_button && half(element.positive_button, 'positive', 'up'),
    element.negative_button && half(element.negative_button, 'negative', 'down'));
}

/** overflow draws the three dots and their menu. */
export function overflow(element, { surface, block }) {
  const el = h('button', {
    class: 'button overflow', type: 'button', 'aria-label': t('More'), 'aria-haspopup': 'menu', data: { testid: 'overflow', ...hooks(block, element) },
    on: { click: () => openMenu(el, (element.options ?? []).map((option) => ({
      label: plainText(option.text), hint: plainText(option.description), data: { value: option.value },
      pick: () => surface.press(el, block, element, { selected: { selected_option: option } }),
    })), t('More')) },
  }, icon('more', 16));
  return el;
}

/** workflowButton cannot start a workflow here and says so. */
export function workflowButton(element) {
  return h('button', { class: 'button', type: 'button', disabled: true, title: 'There are no workflows here' }, textNodes(element.text));
}

/** picture draws an image element; only pictures kept by this server are loaded, nothing is fetched from elsewhere. */
export function picture(spec, { size = 'inline' } = {}) {
  const alt = spec.alt_text || 'image';
  const local = localImage(spec);
  if (local) return h('img', { class: `picture ${size}`, src: local, alt, loading: 'lazy' });
  if (size === 'tiny') return h('span', { class: 'picture tiny missing', role: 'img', 'aria-label': alt, title: alt }, icon('image', 12));
  return h('span', { class: `picture ${size} missing`, role: 'img', 'aria-label': alt }, icon('image', 22), h('span', null, alt),
    spec.image_url && link(spec.image_url, 'open'));
}

function localImage(spec) {
  if (/^data:image\/(png|jpeg|gif|webp);base64,/.test(spec.image_url ?? '')) return spec.image_url;
  if (spec.slack_file?.id) return `page/file/${encodeURIComponent(spec.slack_file.id)}`;
  return spec.image_url?.startsWith(location.origin + '/') ? spec.image_url : null;
}
