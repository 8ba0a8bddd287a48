// The list that "@" opens above a composer.

import { avatar } from './avatar.js';
import { h } from './dom.js';
import { roleOf } from './people.js';
import { nameOf, state } from './store.js';

const MOST = 7;
let lists = 0;

export class Suggestions {
  constructor(input) {
    this.input = input;
    this.id = `suggest-${++lists}`;
    this.el = h('div', { class: 'suggest', id: this.id, role: 'listbox', hidden: true, data: { testid: 'suggest', 'say-label': 'People' } });
    this.items = [];
    input.setAttribute('aria-controls', this.id);
    input.addEventListener('blur', () => setTimeout(() => this.close(), 150));
  }

  /** look opens, narrows or closes the list according to the word before the cursor. */
  look() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const m = document.activeElement === this.input && before.match(/(?:^|[\s(（，。])@([\p{L}\p{N}._-]*)$/u);
    if (!m) return this.close();
    this.query = m[1].toLowerCase();
    this.items = candidates(this.query).slice(0, MOST);
    this.at = 0;
    this.draw();
  }

  draw() {
    this.el.hidden = this.items.length === 0;
    this.input.setAttribute('aria-expanded', String(!this.el.hidden));
    this.el.replaceChildren(...this.items.map((item, i) => h('div', {
      role: 'option', id: `${this.id}-${i}`, 'aria-selected': String(i === this.at), class: 'suggestion', data: { handle: item.handle },
      on: { mousedown: (e) => { e.preventDefault(); this.pick(i); } },
    }, item.face, h('b', null, '@' + item.handle), h('small', null, item.about))));
    if (this.el.hidden) this.input.removeAttribute('aria-activedescendant');
    else this.input.setAttribute('aria-activedescendant', `${this.id}-${this.at}`);
  }

  close() {
    this.items = [];
    this.draw();
  }

  /** key handles a key press and tells whether it was for the list. */
  key(e) {
    if (!this.items.length) return false;
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) {
      this.at = (this.at + by + this.items.length) % this.items.length;
      this.draw();
    } else if ((e.key === 'Enter' && !e.shiftKey) || e.key === 'Tab') {
      if (e.key === 'Enter' && this.items[this.at].handle.toLowerCase() === this.query) return this.close(), false;
      this.pick(this.at);
    } else if (e.key === 'Escape') this.close();
    else return false;
    e.preventDefault();
    e.stopPropagation();
    return true;
  }

  pick(i) {
    const at = this.input.selectionStart;
    const from = this.input.value.lastIndexOf('@', at - 1);
    this.input.setRangeText(`@${this.items[i].handle} `, from, at, 'end');
    this.close();
    this.input.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

function candidates(query) {
  const people = state.snap.people.filter((p) => !p.deleted).map((p) => ({ handle: p.name, about: p.is_bot ? roleOf(p) : `${nameOf(p)} · ${roleOf(p)}`, names: [p.name, p.real_name], face: avatar(p, 22), first: p.is_bot }));
  const groups = state.snap.usergroups.filter((g) => !g.disabled).map((g) => ({ handle: g.handle, about: g.name, names: [g.handle, g.name], face: avatar(g, 22) }));
  return [...people, ...groups]
    .filter((x) => x.names.some((n) => n?.toLowerCase().includes(query)))
    .sort((a, b) => rank(a, query) - rank(b, query));
}

// The app first, then names that begin as typed, then names that contain it.
function rank(item, query) {
  if (item.first) return 0;
  return item.names.some((n) => n?.toLowerCase().startsWith(query)) ? 1 : 2;
}
