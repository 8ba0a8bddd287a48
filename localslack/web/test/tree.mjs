// What the tests of the readers share: walking a tree, and repeatable noise.

/** walk gives every node of a tree. */
export function* walk(nodes) {
  for (const n of (nodes ?? []).flat(3)) {
    yield n;
    yield* walk(n.c);
    yield* walk(n.items);
    yield* walk(n.rows);
  }
}

/** plain is the text that a tree shows. */
export function plain(nodes) {
  return [...walk(nodes)].map((n) => ({ text: n.v, br: '\n', user: '@', channel: '#', cast: '@', group: '@', date: n.fallback, emoji: `:${n.name}:` })[n.t] ?? '').join('');
}

const PARTS = ['a', 'b', 'c', '中', ' ', '\n', '*', '_', '~', '`', '```', '<', '>', '|', '@U1', '#C1', '!here', '&lt;', '&gt;', '&amp;', 'https://a.b', 'javascript:', '- ', '1. ', '# ', '---', '[', '](', ')', '|-|', ':a:'];

/** randomText makes the same noise for the same seed. */
export function randomText(seed) {
  let x = seed * 2654435761 % 4294967296;
  const next = () => (x = (x * 1664525 + 1013904223) % 4294967296) / 4294967296;
  return Array.from({ length: 1 + Math.floor(next() * 14) }, () => PARTS[Math.floor(next() * PARTS.length)]).join('');
}
