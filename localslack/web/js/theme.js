// Light, dark, or as the system says.

import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { t } from './words.js';

const ORDER = ['auto', 'light', 'dark'];
const LOOK = { auto: ['auto', 'Colours: as the system'], light: ['sun', 'Colours: light'], dark: ['moon', 'Colours: dark'] };
const KEY = 'local-slack-theme';

let current = chosen();

function chosen() {
  const asked = new URLSearchParams(location.search).get('theme') ?? localStorage.getItem(KEY);
  return ORDER.includes(asked) ? asked : 'auto';
}

function use(theme) {
  current = theme;
  document.documentElement.dataset.theme = theme;
}

use(current);

/** themeButton goes round the three choices. */
export function themeButton() {
  const draw = () => {
    const [name, label] = LOOK[current];
    fill(el, icon(name, 17));
    el.dataset.sayLabel = label;
    el.setAttribute('aria-label', t(label));
    el.title = t(label);
  };
  const el = h('button', { type: 'button', class: 'iconbutton', data: { testid: 'theme' }, on: { click: () => {
    use(ORDER[(ORDER.indexOf(current) + 1) % ORDER.length]);
    localStorage.setItem(KEY, current);
    draw();
  } } });
  draw();
  return el;
}
