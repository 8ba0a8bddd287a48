// Block Kit: which block is drawn by what, and the simple ones.

import { picture } from './buttons.js';
import { card, carousel, container, layout } from './containers.js';
import { chart } from './chart.js';
import { h } from './dom.js';
import { drawElement } from './elements.js';
import { icon } from './icons.js';
import { drawAll, link } from './inline.js';
import { inputBlock } from './inputs.js';
import { parseMarkdown } from './markdown.js';
import { parseRichText } from './richtext.js';
import { dataTable, table } from './tables.js';
import { plan, taskCard } from './tasks.js';
import { plainText, textNodes } from './text.js';

const BLOCKS = {
  section, context, actions, image, video, alert, card, carousel,
  header: (b) => h('div', { class: `header-block level-${b.level ?? 1}`, role: 'heading', 'aria-level': String((b.level ?? 1) + 2) }, textNodes(b.text)),
  divider: () => h('hr', { class: 'divider' }),
  input: inputBlock,
  rich_text: (b) => h('div', { class: 'rich' }, drawAll(parseRichText(b))),
  markdown: (b) => h('div', { class: 'rich markdown' }, drawAll(parseMarkdown(b.text ?? ''))),
  table,
  data_table: dataTable,
  data_visualization: chart,
  plan,
  task_card: (b) => h('div', { class: 'plan lone' }, taskCard(b)),
  context_actions: contextActions,
  container: (b, surface) => container(b, surface, drawBlocks),
  layout: (b, surface) => layout(b, surface, drawBlocks),
  file: (b) => h('div', { class: 'filecard' }, icon('file'), h('span', null, b.external_id ?? 'file')),
};

/** drawBlocks draws blocks that stand on a surface. */
export function drawBlocks(blocks, surface) {
  return (blocks ?? []).map((block, i) => drawBlock(block, surface, i));
}

/** drawBlock draws one block; a kind that this page does not know is named, never left out in silence. */
export function drawBlock(block, surface, i = 0) {
  const el = BLOCKS[block.type]?.(block, surface) ?? h('div', { class: 'unknown' }, `This page cannot draw the block “${block.type}”.`);
  el.classList.add('block');
  el.setAttribute('data-block-type', block.type);
  el.setAttribute('data-block-id', block.block_id ?? `#${i}`);
  return el;
}

function section(b, surface) {
  return h('div', { class: b.accessory ? 'section with-accessory' : 'section' },
    h('div', { class: 'section-body' },
      b.text && h('div', { class: 'text' }, textNodes(b.text)),
      b.fields && h('div', { class: 'fields' }, b.fields.map((f) => h('div', { class: 'text' }, textNodes(f))))),
    b.accessory && h('div', { class: 'accessory' }, drawElement(b.accessory, { surface, block: b, dispatch: true })));
}

function context(b) {
  return h('div', { class: 'context' }, (b.elements ?? []).map((e) => (e.type === 'image' ? picture(e, { size: 'tiny' }) : h('span', { class: 'text' }, textNodes(e)))));
}

function actions(b, surface) {
  return h('div', { class: 'actions' }, (b.elements ?? []).map((e) => drawElement(e, { surface, block: b, dispatch: true })));
}

function contextActions(b, surface) {
  return h('div', { class: 'actions context-actions' }, (b.elements ?? []).map((e) => drawElement(e, { surface, block: b, dispatch: true })));
}

function image(b) {
  return h('figure', { class: 'image-block' }, b.title && h('figcaption', null, textNodes(b.title)), picture(b, { size: 'wide' }));
}

function video(b) {
  return h('figure', { class: 'image-block' }, h('figcaption', null, textNodes(b.title)), b.title_url && link(b.title_url, plainText(b.title)),
    picture({ alt_text: b.alt_text, image_url: b.thumbnail_url }, { size: 'wide' }));
}

const LEVELS = { info: 'alert', warning: 'alert', error: 'alert', success: 'check', default: 'spark' };

function alert(b) {
  const level = LEVELS[b.level] ? b.level : 'default';
  return h('div', { class: `alert-block ${level}`, role: 'note' }, icon(LEVELS[level]), h('div', { class: 'text' }, textNodes(b.text)));
}
