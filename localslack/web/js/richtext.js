// rich_text blocks read into the tree that inline.js draws.

import { emojiFromUnicode } from './emoji.js';

/** parseRichText reads the elements of a rich_text block; consecutive lists nest by their indent. */
export function parseRichText(block) {
  const out = [];
  for (const element of block.elements ?? []) {
    if (element.type === 'rich_text_list') addList(out, element);
    else out.push(...PARTS[element.type]?.(element) ?? []);
  }
  return out;
}

const PARTS = {
  rich_text_section: (e) => [{ t: 'p', c: spans(e.elements) }],
  rich_text_preformatted: (e) => [{ t: 'pre', c: spans(e.elements, true) }],
  rich_text_quote: (e) => [{ t: 'quote', c: spans(e.elements) }],
};

function addList(out, element) {
  const node = {
    t: element.style === 'ordered' ? 'ol' : 'ul',
    start: (element.offset ?? 0) + 1,
    depth: element.indent ?? 0,
    items: (element.elements ?? []).map((item) => spans(item.elements)),
  };
  const parent = lastListBelow(out[out.length - 1], node.depth);
  if (parent) parent.items[parent.items.length - 1].push(node);
  else out.push(node);
}

// The deepest list at the end of what was read whose depth is less than ours.
function lastListBelow(node, depth) {
  if (!node || node.depth === undefined || node.depth >= depth || !node.items.length) return null;
  const item = node.items[node.items.length - 1];
  return lastListBelow(item[item.length - 1], depth) ?? node;
}

function spans(elements, raw = false) {
  return (elements ?? []).flatMap((e) => styled(SPANS[e.type]?.(e, raw) ?? [{ t: 'text', v: e.text ?? e.fallback ?? '' }], e.style));
}

const SPANS = {
  text: (e, raw) => (raw ? [{ t: 'text', v: e.text ?? '' }] : lines(e.text ?? '')),
  link: (e) => [{ t: 'link', url: e.url, c: [{ t: 'text', v: e.text || e.url || '' }] }],
  user: (e) => [{ t: 'user', id: e.user_id }],
  channel: (e) => [{ t: 'channel', id: e.channel_id }],
  usergroup: (e) => [{ t: 'group', id: e.usergroup_id }],
  broadcast: (e) => [{ t: 'cast', name: e.range }],
  emoji: (e) => [{ t: 'emoji', name: e.name ?? '', char: emojiFromUnicode(e.unicode) ?? undefined }],
  date: (e) => [{ t: 'date', unix: Number(e.timestamp), format: e.format ?? '{date}', url: e.url ?? null, fallback: e.fallback ?? '' }],
  color: (e) => (/^#[0-9a-f]{3,8}$/i.test(e.value ?? '') ? [{ t: 'color', v: e.value }] : [{ t: 'text', v: e.value ?? '' }]),
};

function lines(text) {
  return text.split('\n').flatMap((line, i) => [...(i ? [{ t: 'br' }] : []), ...(line ? [{ t: 'text', v: line }] : [])]);
}

const STYLES = [['code', 'code'], ['bold', 'b'], ['italic', 'i'], ['strike', 's'], ['underline', 'u']];

function styled(nodes, style) {
  return STYLES.reduce((inner, [key, t]) => (style?.[key] ? [{ t, c: inner }] : inner), nodes);
}
