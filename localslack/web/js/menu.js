// A small menu under a button: overflow elements, message actions, people.

import { h } from './dom.js';

/** openMenu shows items ({label, hint, count, icon, danger, testid, data, pick}) next to anchor. */
export function openMenu(anchor, items, label) {
  const menu = h('div', { class: 'menu', role: 'menu', popover: 'auto', 'aria-label': label },
    items.map((item) => h('button', {
      type: 'button', role: 'menuitem', class: item.danger ? 'danger' : null, data: { testid: item.testid, ...item.data },
      on: { click: () => { menu.hidePopover(); item.pick(); } },
    }, item.icon, h('span', null, item.label), item.hint && h('small', null, item.hint), item.count > 0 && h('span', { class: 'count' }, String(item.count)))));
  return show(anchor, menu);
}

/** openPanel shows any element next to anchor, with the same manners as a menu. */
export function openPanel(anchor, content, label) {
  return show(anchor, h('div', { class: 'menu panel', popover: 'auto', role: 'dialog', 'aria-label': label }, content));
}

function show(anchor, menu) {
  (anchor.closest('dialog') ?? document.body).append(menu);
  menu.addEventListener('toggle', (e) => {
    if (e.newState !== 'closed') return;
    menu.remove();
    if (document.activeElement === document.body) anchor.focus();
  });
  menu.addEventListener('keydown', (e) => step(menu, e));
  menu.showPopover();
  place(anchor, menu);
  menu.querySelector('button, input')?.focus();
  return menu;
}

function place(anchor, menu) {
  const a = anchor.getBoundingClientRect();
  const m = menu.getBoundingClientRect();
  const left = Math.max(8, Math.min(a.left, innerWidth - m.width - 8));
  const below = a.bottom + 4 + m.height <= innerHeight;
  menu.style.left = `${left}px`;
  menu.style.top = `${below ? a.bottom + 4 : Math.max(8, a.top - m.height - 4)}px`;
}

function step(menu, e) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (!by) return;
  const all = [...menu.querySelectorAll('button')];
  e.preventDefault();
  all[(all.indexOf(document.activeElement) + by + all.length) % all.length]?.focus();
}
