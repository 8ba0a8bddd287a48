// Modals: the top view of the person's stack, its inputs, errors and answers.

import { act, explain } from './api.js';
import { avatar } from './avatar.js';
import { drawBlock } from './blocks.js';
import { clear, fill, h, reconcile } from './dom.js';
import { icon } from './icons.js';
import { bot, state } from './store.js';
import { forget, surfaceFor } from './surface.js';
import { plainText, textNodes } from './text.js';
import { toast } from './toast.js';
import { t } from './words.js';

const head = h('header');
const blocks = h('div', { class: 'modal-body', tabindex: '-1' });
const note = h('p', { class: 'modal-note', role: 'alert', hidden: true });
const foot = h('footer');
const form = h('form', { novalidate: true, on: { submit: (e) => { e.preventDefault(); submit(); } } }, head, note, blocks, foot);
const dialog = h('dialog', { class: 'modal', data: { testid: 'modal' }, 'aria-labelledby': 'modal-title', on: { cancel: (e) => { e.preventDefault(); close(false); } } }, form);

let current = null; // the view on screen
let busy = false;
let from = '';      // what had the focus before

/** modalHost is the dialog element, to be put into the page once. */
export function modalHost() {
  return dialog;
}

/** drawModal shows the top of the stack, or nothing. */
export function drawModal() {
  const stack = state.snap.views ?? [];
  const view = stack.at(-1) ?? null;
  if (!view) return hide();
  const fresh = current?.id !== view.id;
  if (fresh) open(view, stack);
  if (fresh || current.hash !== view.hash || current.depth !== stack.length) drawView(view, stack);
  current = { ...view, depth: stack.length };
  if (fresh || [blocks, dialog, document.body].includes(document.activeElement)) focusFirst(); // also when inputs follow a loading view
}

function hide() {
  if (current) forget(`view/${current.id}`);
  current = null;
  if (!dialog.open) return;
  dialog.close();
  goBack();
}

// What opened the modal has probably been drawn anew since.
function goBack() {
  if (document.activeElement === document.body && from) document.querySelector(`[data-focus="${CSS.escape(from)}"]`)?.focus({ preventScroll: true });
}

function open(view, stack) {
  if (current && !stack.some((v) => v.id === current.id)) forget(`view/${current.id}`);
  busy = false;
  clear(blocks);
  surface(view).errors = null;
  if (!dialog.open) {
    from = document.activeElement?.dataset.focus ?? '';
    dialog.showModal();
  }
  blocks.scrollTop = 0;
}

function surface(view) {
  return surfaceFor(`view/${view.id}`, { view_id: view.id });
}

function drawView(view, stack) {
  dialog.dataset.callbackId = view.callback_id ?? '';
  dialog.dataset.viewId = view.id;
  dialog.dataset.depth = String(stack.length);
  fill(head,
    stack.length > 1 && h('button', { type: 'button', class: 'iconbutton', 'aria-label': t('Back'), data: { testid: 'modal-back' }, on: { click: () => close(false) } }, icon('back', 18)),
    avatar(bot(), 24), h('h2', { id: 'modal-title' }, textNodes(view.title)),
    h('button', { type: 'button', class: 'iconbutton close', 'aria-label': t('Close'), data: { testid: 'modal-dismiss' }, on: { click: () => close(true) } }, icon('close', 18)));
  fill(foot,
    h('button', { type: 'button', class: 'button', data: { testid: 'modal-close' }, on: { click: () => close(false) } }, plainText(view.close) || t(view.submit ? 'Cancel' : 'Close')),
    view.submit && h('button', { type: 'submit', class: 'button primary', data: { testid: 'modal-submit' } }, textNodes(view.submit)));
  drawBlocksOf(view);
}

function drawBlocksOf(view) {
  const s = surface(view);
  reconcile(blocks, (view.blocks ?? []).map((b, i) => ({ b, i })), {
    key: ({ b, i }) => b.block_id ?? `#${i}`,
    sig: ({ b }) => JSON.stringify([b, s.errors?.[b.block_id] ?? '']),
    make: ({ b, i }) => drawBlock(b, s, i),
  });
}

function focusFirst() {
  (blocks.querySelector('[autofocus], input, textarea, select') ?? foot.querySelector('[type=submit]') ?? blocks).focus();
}

async function submit() {
  if (busy || !current) return;
  const view = current;
  const s = surface(view);
  wait(true);
  try {
    const outcome = await act('submit', { view_id: view.id, values: s.state(view.blocks) });
    show(view, outcome.errors ?? null, outcome.notice);
  } catch (err) {
    show(view, null, explain(err));
  }
  if (current?.id === view.id) wait(false);
}

function show(view, errors, notice) {
  if (current?.id !== view.id) return notice && toast(notice, 'warn');
  surface(view).errors = errors;
  drawBlocksOf(current);
  note.hidden = !notice;
  note.textContent = notice ?? '';
  blocks.querySelector('[aria-invalid]')?.focus();
}

function wait(on) {
  busy = on;
  form.setAttribute('aria-busy', String(on));
  for (const b of foot.querySelectorAll('button')) b.disabled = on;
}

async function close(all) {
  if (!current) return;
  const view = current;
  try {
    const outcome = await act('close', { view_id: view.id, all });
    if (outcome.notice) toast(outcome.notice, 'warn');
  } catch (err) {
    toast(explain(err), 'error');
  }
  note.hidden = true;
}
