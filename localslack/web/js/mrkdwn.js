// Slack's mrkdwn read into a small tree; inline.js draws the tree. Nothing in
// here touches the document, so the parser can be tested without a browser.

const ENTITIES = { '&amp;': '&', '&lt;': '<', '&gt;': '>' };

/** decode undoes Slack's three escapes, once. */
export function decode(text) {
  return text.replace(/&(?:amp|lt|gt);/g, (entity) => ENTITIES[entity]);
}

/** parseMrkdwn reads text with formatting: fences, quotes, inline marks, control sequences. */
export function parseMrkdwn(text) {
  const nodes = [];
  const parts = text.split(/```/);
  parts.forEach((part, i) => {
    if (i % 2 === 1 && i < parts.length - 1) nodes.push(preformatted(part));
    else if (i % 2 === 1) nodes.push(...parseLines('```' + part));
    else nodes.push(...parseLines(trimAroundFence(part, i, parts.length)));
  });
  return nodes;
}

function trimAroundFence(part, i, count) {
  let out = part;
  if (i > 0) out = out.replace(/^\n/, '');
  if (i < count - 2) out = out.replace(/\n$/, '');
  return out;
}

function preformatted(body) {
  const text = body.replace(/^\n/, '').replace(/\n$/, '');
  return { t: 'pre', c: splitTokens(text).map((p) => (p.token ? token(p.token) : { t: 'text', v: decode(p.text) })) };
}

/** parsePlain reads text without formatting: only emoji are drawn (plain_text objects). */
export function parsePlain(text, emoji = true) {
  return text.split('\n').flatMap((line, i) => [...(i ? [{ t: 'br' }] : []), ...(emoji ? withEmoji(line) : [{ t: 'text', v: line }])]);
}

function withEmoji(text) {
  return text.split(/(:[a-z0-9_+'-]+:)/).filter(Boolean).map((part) => (/^:[a-z0-9_+'-]+:$/.test(part) ? { t: 'emoji', name: part.slice(1, -1) } : { t: 'text', v: part }));
}

function parseLines(text) {
  if (text === '') return [];
  const nodes = [];
  let quote = null;
  const lines = text.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const rest = lines[i].match(/^(?:&gt;|>){3} ?([\s\S]*)/);
    if (rest) {
      nodes.push({ t: 'quote', c: joinLines([rest[1], ...lines.slice(i + 1)]) });
      return nodes;
    }
    const quoted = lines[i].match(/^(?:&gt;|>(?!>)) ?(.*)/);
    if (quoted) {
      if (quote) quote.c.push({ t: 'br' }, ...parseInline(quoted[1]));
      else nodes.push((quote = { t: 'quote', c: parseInline(quoted[1]) }));
      continue;
    }
    if (i > 0 && !quote) nodes.push({ t: 'br' });
    quote = null;
    nodes.push(...parseInline(lines[i]));
  }
  return nodes;
}

function joinLines(lines) {
  return lines.flatMap((line, i) => [...(i ? [{ t: 'br' }] : []), ...parseInline(line)]);
}

const MARKS = { '*': 'b', _: 'i', '~': 's' };
const WORD = /[\p{L}\p{N}]/u;

/** parseInline reads one line. */
export function parseInline(line) {
  const out = [];
  let text = '';
  const flush = () => {
    if (text) out.push({ t: 'text', v: decode(text) });
    text = '';
  };
  for (let i = 0; i < line.length;) {
    const hit = inlineAt(line, i);
    if (!hit) {
      text += line[i++];
      continue;
    }
    flush();
    out.push(hit.node);
    i += hit.length;
  }
  flush();
  return out;
}

function inlineAt(line, i) {
  const ch = line[i];
  if (ch === '`') return codeAt(line, i);
  if (ch === '<') return tokenAt(line, i);
  if (ch === ':') return emojiAt(line, i);
  if (ch === 'h') return urlAt(line, i);
  return MARKS[ch] ? markAt(line, i, ch) : null;
}

function codeAt(line, i) {
  const end = line.indexOf('`', i + 1);
  if (end <= i + 1) return null;
  const nodes = splitTokens(line.slice(i + 1, end)).map((p) => (p.token ? token(p.token) : { t: 'text', v: decode(p.text) }));
  return { node: { t: 'code', c: nodes }, length: end - i + 1 };
}

function tokenAt(line, i) {
  const end = line.indexOf('>', i + 1);
  if (end <= i + 1) return null;
  return { node: token(line.slice(i + 1, end)), length: end - i + 1 };
}

function emojiAt(line, i) {
  const m = line.slice(i, i + 60).match(/^:([a-z0-9_+'-]+(?:::skin-tone-\d)?):/);
  return m ? { node: { t: 'emoji', name: m[1] }, length: m[0].length } : null;
}

function urlAt(line, i) {
  if (i > 0 && WORD.test(line[i - 1])) return null;
  const m = line.slice(i).match(/^https?:\/\/[^\s<>|`*"'，。；、）】》]+[^\s<>|`*"'.,;:!?)\]，。；、）】》]/);
  if (!m) return null;
  const url = decode(m[0]);
  return { node: { t: 'link', url, c: [{ t: 'text', v: url }] }, length: m[0].length };
}

function markAt(line, i, ch) {
  if (i > 0 && (WORD.test(line[i - 1]) || line[i - 1] === ch)) return null;
  if (!line[i + 1] || /\s/.test(line[i + 1]) || line[i + 1] === ch) return null;
  for (let end = line.indexOf(ch, i + 2); end > 0; end = line.indexOf(ch, end + 1)) {
    const after = line[end + 1];
    if (/\s/.test(line[end - 1]) || (after && (WORD.test(after) || after === ch))) continue;
    if (insideToken(line, i, end)) continue;
    return { node: { t: MARKS[ch], c: parseInline(line.slice(i + 1, end)) }, length: end - i + 1 };
  }
  return null;
}

function insideToken(line, from, at) {
  const open = line.lastIndexOf('<', at);
  return open > from && line.lastIndexOf('>', at) < open;
}

function splitTokens(text) {
  return text.split(/(<[^<>\n]+>)/).filter(Boolean).map((p) => (/^<[^<>\n]+>$/.test(p) ? { token: p.slice(1, -1) } : { text: p }));
}

/** token reads what stands between angle brackets: a mention, a date, a broadcast or a link. */
export function token(body) {
  const bar = body.indexOf('|');
  const head = bar < 0 ? body : body.slice(0, bar);
  const label = bar < 0 ? null : decode(body.slice(bar + 1));
  if (/^@[UW][A-Z0-9_]*$/.test(head)) return { t: 'user', id: head.slice(1), label };
  if (/^#[CG][A-Z0-9_]*$/.test(head)) return { t: 'channel', id: head.slice(1), label };
  if (head.startsWith('!')) return special(head, label, body);
  const url = decode(head);
  if (/^(https?:\/\/|mailto:)/i.test(url)) return { t: 'link', url, c: [{ t: 'text', v: label ?? url.replace(/^mailto:/i, '') }] };
  return { t: 'text', v: decode(`<${body}>`) };
}

function special(head, label, body) {
  const group = head.match(/^!subteam\^(S[A-Z0-9_]*)$/);
  if (group) return { t: 'group', id: group[1], label };
  const cast = head.match(/^!(here|channel|everyone)$/);
  if (cast) return { t: 'cast', name: cast[1] };
  const date = head.match(/^!date\^(-?\d+)\^([^^]*)(?:\^(.*))?$/);
  if (date) return { t: 'date', unix: Number(date[1]), format: decode(date[2]), url: date[3] ? decode(date[3]) : null, fallback: label ?? '' };
  return { t: 'text', v: label ?? decode(`<${body}>`) };
}
