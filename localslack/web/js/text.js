// Text objects: mrkdwn or plain_text.

import { drawAll } from './inline.js';
import { parseMrkdwn, parsePlain } from './mrkdwn.js';

/** textNodes draws a text object; a bare string counts as plain text. */
export function textNodes(object) {
  if (!object) return [];
  if (typeof object === 'string') return drawAll(parsePlain(object));
  return drawAll(object.type === 'mrkdwn' ? parseMrkdwn(object.text ?? '') : parsePlain(object.text ?? '', object.emoji !== false));
}

/** plainText is the bare text of a text object, for attributes and options. */
export function plainText(object) {
  return typeof object === 'string' ? object : object?.text ?? '';
}
