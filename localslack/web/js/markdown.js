// Standard Markdown (the `markdown` block) read into the same small tree as
// mrkdwn, plus headings, lists and tables. No document, no HTML.

import { decode, token } from './mrkdwn.js';

/** parseMarkdown reads a whole text. */
export function parseMarkdown(text) {
  return blocks(text.replace(/\r\n?/g, '\n').split('\n'));
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}(?:>|&gt;) ?(.*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines) {
  const out = [];
  let i = 0;
  while (i < lines.length) {
    const reader = readers.find((r) => r.starts(lines, i)) ?? paragraph;
    const { node, next } = reader.read(lines, i);
    if (node) out.push(node);
    i = next;
  }
  return out;
}

const blank = {
  starts: (lines, i) => lines[i].trim() === '',
  read: (lines, i) => ({ node: null, next: i + 1 }),
};

const fence = {
  starts: (lines, i) => FENCE.test(lines[i]),
  read(lines, i) {
    const mark = lines[i].match(FENCE)[1];
    let end = i + 1;
    while (end < lines.length && !lines[end].trim().startsWith(mark)) end++;
    return { node: { t: 'pre', c: [{ t: 'text', v: decode(lines.slice(i + 1, end).join('\n')) }] }, next: end + 1 };
  },
};

const heading = {
  starts: (lines, i) => HEADING.test(lines[i]),
  read(lines, i) {
    const [, marks, text] = lines[i].match(HEADING);
    return { node: { t: 'h', level: marks.length, c: parseSpan(text) }, next: i + 1 };
  },
};

const rule = {
  starts: (lines, i) => RULE.test(lines[i]),
  read: (lines, i) => ({ node: { t: 'hr' }, next: i + 1 }),
};

const quote = {
  starts: (lines, i) => QUOTE.test(lines[i]),
  read(lines, i) {
    const inner = [];
    while (i < lines.length && QUOTE.test(lines[i])) inner.push(lines[i++].match(QUOTE)[1]);
    return { node: { t: 'quote', c: blocks(inner) }, next: i };
  },
};

const table = {
  starts: (lines, i) => lines[i].includes('|') && i + 1 < lines.length && lines[i + 1].includes('-') && TABLE_RULE.test(lines[i + 1]),
  read(lines, i) {
    const align = cells(lines[i + 1]).map((c) => (c.endsWith(':') ? (c.startsWith(':') ? 'center' : 'right') : 'left'));
    const rows = [cells(lines[i])];
    let next = i + 2;
    while (next < lines.length && lines[next].includes('|')) rows.push(cells(lines[next++]));
    return { node: { t: 'table', align, rows: rows.map((row) => row.map(parseSpan)) }, next };
  },
};

function cells(line) {
  const trimmed = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return trimmed.split(/(?<!\\)\|/).map((c) => c.trim().replace(/\\\|/g, '|'));
}

const list = {
  starts: (lines, i) => ITEM.test(lines[i]),
  read(lines, i) {
    const [, indent, mark] = lines[i].match(ITEM);
    const ordered = /\d/.test(mark);
    const items = [];
    let next = i;
    while (next < lines.length) {
      const m = lines[next].match(ITEM);
      if (!m || m[1].length < indent.length || (m[1].length === indent.length && /\d/.test(m[2]) !== ordered)) break;
      const body = [m[3]];
      next++;
      while (next < lines.length && belongs(lines[next], indent.length)) body.push(outdent(lines[next++], m[1].length + m[2].length + 1));
      items.push(itemBlocks(body));
    }
    return { node: { t: ordered ? 'ol' : 'ul', start: ordered ? parseInt(mark, 10) : 1, items }, next };
  },
};

// Only indentation is taken away, and at most as much as the item's own text
// is set in: what is left tells a nested list from its neighbours.
function outdent(line, width) {
  const lead = line.match(/^\s*/)[0].length;
  return line.slice(Math.min(lead, width));
}

function belongs(line, indent) {
  if (line.trim() === '') return false;
  const lead = line.match(/^\s*/)[0].length;
  return lead > indent;
}

function itemBlocks(body) {
  const nodes = blocks(body);
  return nodes[0]?.t === 'p' ? [...nodes[0].c, ...nodes.slice(1)] : nodes;
}

const paragraph = {
  read(lines, i) {
    const body = [];
    do body.push(lines[i++].trim());
    while (i < lines.length && !readers.some((r) => r.starts(lines, i)));
    return { node: { t: 'p', c: body.flatMap((line, n) => [...(n ? [{ t: 'br' }] : []), ...parseSpan(line)]) }, next: i };
  },
};

const readers = [blank, fence, heading, rule, quote, table, list];

/** parseSpan reads the inline marks of one line. */
export function parseSpan(text) {
  const out = [];
  let plain = '';
  const flush = () => {
    if (plain) out.push({ t: 'text', v: decode(plain) });
    plain = '';
  };
  for (let i = 0; i < text.length;) {
    if (text[i] === '\\' && /[\\`*_{}[\]()#+\-.!~|<>]/.test(text[i + 1] ?? '')) {
      plain += text[i + 1];
      i += 2;
      continue;
    }
    const hit = spanAt(text, i);
    if (!hit) plain += text[i++];
    else {
      flush();
      out.push(hit.node);
      i += hit.length;
    }
  }
  flush();
  return out;
}

const SPANS = [
  { re: /^(`+)([^`](?:.*?[^`])?)\1(?!`)/, node: (m) => ({ t: 'code', c: [{ t: 'text', v: decode(m[2]) }] }) },
  { re: /^\*\*\*(?=\S)(.+?\S?)\*\*\*/, node: (m) => ({ t: 'b', c: [{ t: 'i', c: parseSpan(m[1]) }] }) },
  { re: /^\*\*(?=\S)(.+?)\*\*(?!\*)/, node: (m) => ({ t: 'b', c: parseSpan(m[1]) }) },
  { re: /^__(?=\S)(.+?)__(?![\p{L}\p{N}_])/u, node: (m) => ({ t: 'b', c: parseSpan(m[1]) }), word: true },
  { re: /^\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?!\*)/, node: (m) => ({ t: 'i', c: parseSpan(m[1]) }) },
  { re: /^_(?=[^\s_])(.+?)(?<=[^\s_])_(?![\p{L}\p{N}_])/u, node: (m) => ({ t: 'i', c: parseSpan(m[1]) }), word: true },
  { re: /^~~(?=\S)(.+?)~~/, node: (m) => ({ t: 's', c: parseSpan(m[1]) }) },
  { re: /^!?\[([^\]]*)\]\((https?:\/\/[^\s()]+(?:\([^\s()]*\)[^\s()]*)*|mailto:[^\s)]+)(?:\s+"[^"]*")?\)/i, node: (m) => ({ t: 'link', url: decode(m[2]), c: parseSpan(m[1] || m[2]) }) },
  { re: /^<([^<>\n]+)>/, node: (m) => token(m[1]) },
  { re: /^https?:\/\/[^\s<>|`*"'，。；、）】》]+[^\s<>|`*"'.,;:!?)\]，。；、）】》]/, node: (m) => ({ t: 'link', url: decode(m[0]), c: [{ t: 'text', v: decode(m[0]) }] }), word: true },
  { re: /^:([a-z0-9_+'-]+):/, node: (m) => ({ t: 'emoji', name: m[1] }) },
];

function spanAt(text, i) {
  if (!'`*_~![<h:'.includes(text[i])) return null;
  const rest = text.slice(i);
  const inWord = i > 0 && /[\p{L}\p{N}_]/u.test(text[i - 1]);
  for (const span of SPANS) {
    const m = !(span.word && inWord) && rest.match(span.re);
    if (m) return { node: span.node(m), length: m[0].length };
  }
  return null;
}
