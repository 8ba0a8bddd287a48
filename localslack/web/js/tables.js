// table and data_table blocks.

import { h } from './dom.js';
import { drawElement } from './elements.js';
import { drawAll } from './inline.js';
import { parseRichText } from './richtext.js';
import { t } from './words.js';

function cellNodes(cell, at) {
  if (!cell) return [];
  if (cell.type === 'rich_text') return drawAll(parseRichText({ elements: wrapped(cell.elements) }));
  if (cell.type === 'raw_number') return cell.text || String(cell.value);
  if (cell.type === 'action_cell') return drawElement(cell.element, { ...at, dispatch: true });
  return cell.text ?? '';
}

// Cells hold whole rich text parts or, in some clients, bare spans.
function wrapped(elements) {
  const parts = elements ?? [];
  return parts.some((e) => e.type?.startsWith('rich_text_')) ? parts : [{ type: 'rich_text_section', elements: parts }];
}

/** table draws a table block: its first row is the head. */
export function table(b, surface) {
  const settings = b.column_settings ?? [];
  const css = (i) => `align-${settings[i]?.align ?? 'left'}${settings[i]?.is_wrapped ? ' wrapped' : ''}`;
  const [head, ...rows] = b.rows ?? [];
  const row = (tag) => (cells) => h('tr', null, cells.map((c, i) => h(tag, { class: css(i) }, cellNodes(c, { surface, block: b }))));
  return h('div', { class: 'tablewrap', tabindex: '0', role: 'region', 'aria-label': t('Table') },
    h('table', { class: 'grid' }, head && h('thead', null, row('th')(head)), h('tbody', null, rows.map(row('td')))));
}

/** dataTable draws a data_table block page by page; a click on a head sorts, for this person's eyes only. */
export function dataTable(b, surface) {
  const ui = (surface.ui[`table/${b.block_id}`] ??= { page: 0, sort: -1, down: false });
  const el = h('div', { class: 'datatable' });
  const draw = () => {
    const [head, ...rows] = b.rows ?? [];
    const size = b.page_size || 5;
    const pages = Math.max(1, Math.ceil(rows.length / size));
    ui.page = Math.min(ui.page, pages - 1);
    const shown = sorted(rows, ui).slice(ui.page * size, (ui.page + 1) * size);
    el.replaceChildren(
      h('div', { class: 'table-caption' }, h('strong', null, b.caption)),
      h('div', { class: 'tablewrap', tabindex: '0' }, h('table', { class: 'grid', 'aria-label': b.caption },
        h('thead', null, h('tr', null, (head ?? []).map((c, i) => sortHead(c, i, ui, draw, numeric(rows, i))))),
        h('tbody', null, shown.map((r) => bodyRow(r, b, surface, rows))))),
      pager(ui, pages, draw) ?? '');
  };
  draw();
  return el;
}

function sortHead(cell, i, ui, draw, number) {
  const on = ui.sort === i;
  const flip = () => { Object.assign(ui, on && ui.down ? { sort: -1, down: false } : { sort: i, down: on }); draw(); };
  return h('th', { class: number ? 'align-right' : null, 'aria-sort': on ? (ui.down ? 'descending' : 'ascending') : 'none' },
    h('button', { type: 'button', class: 'sort', on: { click: flip } }, cellNodes(cell, {}), on ? (ui.down ? ' ↓' : ' ↑') : ''));
}

function bodyRow(cells, b, surface, rows) {
  return h('tr', null, cells.map((c, i) => h(i === b.row_header_column_index ? 'th' : 'td', { class: numeric(rows, i) ? 'align-right' : null }, cellNodes(c, { surface, block: b }))));
}

function numeric(rows, i) {
  return rows.length > 0 && rows.every((r) => r[i]?.type === 'raw_number');
}

function sorted(rows, ui) {
  if (ui.sort < 0) return rows;
  const value = (r) => r[ui.sort]?.value ?? r[ui.sort]?.text ?? '';
  const order = (a, b) => (typeof value(a) === 'number' && typeof value(b) === 'number' ? value(a) - value(b) : String(value(a)).localeCompare(String(value(b))));
  return rows.toSorted((a, b) => (ui.down ? order(b, a) : order(a, b)));
}

function pager(ui, pages, draw) {
  if (pages < 2) return null;
  const to = (page) => () => { ui.page = page; draw(); };
  return h('nav', { class: 'pager', 'aria-label': t('Pages of the table') },
    h('button', { type: 'button', class: 'button small', disabled: ui.page === 0, on: { click: to(ui.page - 1) } }, t('Previous')),
    h('span', null, `${ui.page + 1} / ${pages}`),
    h('button', { type: 'button', class: 'button small', disabled: ui.page === pages - 1, on: { click: to(ui.page + 1) } }, t('Next')));
}
