// Files under a message.

import { h } from './dom.js';
import { icon } from './icons.js';

/** drawFile draws a picture as a picture and everything else as a card to download. */
export function drawFile(file) {
  const href = `page/file/${encodeURIComponent(file.id)}`;
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.mimetype)) {
    return h('figure', { class: 'image-block', data: { testid: 'file' } }, h('figcaption', null, file.title || file.name), h('img', { class: 'picture wide', src: href, alt: file.title || file.name }));
  }
  return h('div', { class: 'filecard', data: { testid: 'file', 'file-id': file.id } },
    h('span', { class: 'fileicon' }, icon('file')),
    h('div', { class: 'filetext' },
      h('a', { href, download: file.name }, file.title || file.name),
      h('small', null, `${kind(file)} · ${bytes(file.size)}`),
      file.preview && h('pre', { class: 'pre preview' }, file.preview)));
}

function kind(file) {
  const dot = file.name.lastIndexOf('.');
  return dot > 0 ? file.name.slice(dot + 1).toUpperCase() : file.mimetype;
}

/** bytes writes a size for people. */
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  return n < 1e6 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}
