// plan and task_card blocks: what the bot means to do and how far it is.

import { h } from './dom.js';
import { icon } from './icons.js';
import { drawAll, link } from './inline.js';
import { parseRichText } from './richtext.js';
import { t } from './words.js';

const STATUS = {
  pending: { label: 'to do' },
  in_progress: { label: 'in progress' },
  complete: { label: 'done', icon: 'check' },
  completed: { label: 'done', icon: 'check' },
  error: { label: 'failed', icon: 'close' },
};

/** plan draws a plan with its tasks; finished plans can be folded away. */
export function plan(b, surface) {
  const tasks = b.tasks ?? [];
  const done = tasks.filter((t) => t.status?.startsWith('complete')).length;
  const key = `plan/${b.block_id}`;
  const el = h('details', { class: 'plan', open: surface.ui[key] ?? true, on: { toggle: () => { surface.ui[key] = el.open; } } },
    h('summary', null, h('span', { class: 'plan-title' }, b.title), tasks.length > 0 && h('span', { class: 'plan-count' }, `${done} / ${tasks.length}`)),
    tasks.length > 0 && h('progress', { max: String(tasks.length), value: String(done), 'aria-label': t('Progress') }),
    tasks.map(taskCard));
  return el;
}

/** taskCard draws one task: its state, details, output and sources. */
export function taskCard(task) {
  const status = STATUS[task.status] ?? STATUS.pending;
  return h('div', { class: 'task', data: { status: task.status ?? 'pending', 'task-id': task.task_id } },
    h('span', { class: 'task-mark', role: 'img', 'aria-label': t(status.label), title: t(status.label) }, status.icon && icon(status.icon, 12)),
    h('div', { class: 'task-body' },
      !task.hide_title && h('div', { class: 'task-title' }, task.title),
      task.details && h('div', { class: 'task-details rich' }, drawAll(parseRichText(task.details))),
      task.output && h('div', { class: 'task-output rich' }, drawAll(parseRichText(task.output))),
      task.sources?.length > 0 && h('div', { class: 'task-sources' }, task.sources.map((s) => link(s.url, s.text || s.url)))));
}
