// Faces: initials on a colour of their own, since nothing is fetched.

import { h } from './dom.js';
import { icon } from './icons.js';

const HUES = [262, 12, 152, 210, 38, 330, 185, 95, 288, 230];

/** avatar draws a person's square; size is in pixels. */
export function avatar(person, size = 36) {
  const el = h('span', { class: person?.is_bot ? 'avatar bot' : 'avatar', 'aria-hidden': 'true' }, person?.is_bot ? icon('check', size * 0.6) : initials(person));
  el.style.setProperty('--size', `${size}px`);
  el.style.setProperty('--hue', String(HUES[hash(person?.id ?? '') % HUES.length]));
  return el;
}

function initials(person) {
  const name = person?.real_name || person?.name || '?';
  return [...name.trim()][0]?.toUpperCase() ?? '?';
}

function hash(text) {
  let sum = 7;
  for (const ch of text) sum = (sum * 31 + ch.codePointAt(0)) >>> 0;
  return sum;
}
