// Blocks that hold blocks: container, layout, card and carousel.

import { picture } from './buttons.js';
import { h } from './dom.js';
import { drawElement } from './elements.js';
import { drawAll } from './inline.js';
import { parseRichText } from './richtext.js';
import { textNodes } from './text.js';

/** container draws a framed group; a collapsible one remembers whether this person opened it. */
export function container(b, surface, drawBlocks) {
  const head = [
    b.icon && picture(b.icon, { size: 'tiny' }),
    h('span', { class: 'container-title' }, b.rich_text_title ? drawAll(parseRichText(b.rich_text_title)) : textNodes(b.title)),
    b.subtitle && h('span', { class: 'container-subtitle' }, textNodes(b.subtitle)),
  ];
  const body = h('div', { class: 'container-body' }, drawBlocks(b.child_blocks, surface));
  if (!b.is_collapsible) return h('div', { class: 'container' }, h('div', { class: 'container-head' }, head), body);
  const key = `open/${b.block_id}`;
  const el = h('details', { class: 'container', open: surface.ui[key] ?? !b.default_collapsed, on: { toggle: () => { surface.ui[key] = el.open; } } },
    h('summary', { class: 'container-head' }, head), body);
  return el;
}

/** layout draws rows of blocks side by side. */
export function layout(b, surface, drawBlocks) {
  return h('div', { class: `layout lines-${b.grid_lines ?? 'none'}`, role: 'group', 'aria-label': b.label },
    b.is_label_visible && h('div', { class: 'container-title' }, b.label),
    (b.rows ?? []).map((row) => h('div', { class: 'layout-row' },
      (row.items ?? []).map((item) => h('div', { class: `layout-item ${item.horizontal_alignment ?? ''}` }, drawBlocks([item.block], surface))))));
}

/** card draws a small framed piece with a picture and buttons. */
export function card(b, surface) {
  return h('div', { class: 'card' },
    b.hero_image && picture(b.hero_image, { size: 'wide' }),
    h('div', { class: 'card-head' }, b.icon && picture(b.icon, { size: 'tiny' }),
      h('div', null, b.title && h('div', { class: 'card-title' }, textNodes(b.title)), b.subtitle && h('div', { class: 'muted' }, textNodes(b.subtitle)))),
    b.body && h('div', { class: 'text' }, textNodes(b.body)),
    b.subtext && h('div', { class: 'muted' }, textNodes(b.subtext)),
    b.actions && h('div', { class: 'actions' }, b.actions.map((e) => drawElement(e, { surface, block: b, dispatch: true }))));
}

/** carousel draws cards in a row that scrolls sideways. */
export function carousel(b, surface) {
  return h('div', { class: 'carousel', tabindex: '0' }, (b.elements ?? []).map((c) => card({ ...c, block_id: c.block_id ?? b.block_id }, surface)));
}
