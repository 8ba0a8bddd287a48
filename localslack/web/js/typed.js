// A stored text as somebody would have typed it, for editing.

import { channelById, groupById, personById } from './store.js';
import { decode } from './mrkdwn.js';

/** asTyped undoes escapes and mention tokens of a message's text. */
export function asTyped(m) {
  const text = (m.text ?? '').replace(/<([^<>\n]+)>/g, (whole, body) => {
    const [head, label] = body.split('|');
    if (head.startsWith('@')) return `@${personById(head.slice(1))?.name ?? label ?? head.slice(1)}`;
    if (head.startsWith('#')) return `#${channelById(head.slice(1))?.name ?? label ?? head.slice(1)}`;
    if (head.startsWith('!subteam^')) return `@${groupById(head.slice(9))?.handle ?? label ?? ''}`;
    if (/^!(here|channel|everyone)$/.test(head)) return `@${head.slice(1)}`;
    return label ?? head.replace(/^mailto:/, '');
  });
  return decode(text);
}
