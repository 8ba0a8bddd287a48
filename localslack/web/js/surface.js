// A surface is what blocks stand on: a message, a modal or the Home tab. It
// holds the values of its inputs and knows how to report a press.

import { attempt } from './api.js';
import { confirmed } from './confirm.js';

const surfaces = new Map();

/** surfaceFor gives the one surface of a message, modal or Home tab, so that what was typed survives a redraw. */
export function surfaceFor(key, target) {
  if (!surfaces.has(key)) surfaces.set(key, new Surface(target));
  return surfaces.get(key);
}

/** forget drops a surface whose view is gone. */
export function forget(key) {
  surfaces.delete(key);
}

export class Surface {
  /** target is {channel, ts} or {view_id}, as the server's click request names it. */
  constructor(target) {
    this.target = target;
    this.kind = target.view_id ? 'view' : 'message';
    this.values = {};
    this.busy = new Set();
    this.ui = {};
  }

  /** get is the state object of an input, or undefined while nobody touched it. */
  get(blockId, actionId) {
    return this.values[blockId]?.[actionId];
  }

  /** put notes the state object of an input. */
  put(blockId, actionId, value) {
    (this.values[blockId] ??= {})[actionId] = value;
  }

  /** state is all values whose block is still there. */
  state(blocks) {
    const ids = new Set(allBlocks(blocks).map((b) => b.block_id));
    return Object.fromEntries(Object.entries(this.values).filter(([id]) => ids.has(id)));
  }

  /** press reports a press of an element after its confirmation; el shows that it is under way. */
  async press(el, block, element, { selected } = {}) {
    const key = `${block.block_id}/${element.action_id}`;
    if (this.busy.has(key) || (element.confirm && !(await confirmed(element.confirm)))) return;
    this.busy.add(key);
    el.setAttribute('aria-busy', 'true');
    await attempt('click', {
      ...this.target, block_id: block.block_id, action_id: element.action_id,
      selected, state: this.values,
    });
    this.busy.delete(key);
    el.removeAttribute('aria-busy');
  }
}

/** allBlocks are the blocks and, for containers and layouts, those within. */
export function allBlocks(blocks) {
  return (blocks ?? []).flatMap((b) => [b, ...allBlocks(b.child_blocks), ...allBlocks(b.rows?.flatMap?.((r) => r.items?.map((i) => i.block) ?? []))]);
}
