// Building elements. Text always goes in as text nodes: nothing on this page
// ever parses a string from the workspace as HTML.

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'selected', 'indeterminate', 'textContent', 'open', 'hidden']);

/** h makes an element: props are attributes, `on` handlers, `data` hooks and `style` values. */
export function h(tag, props, ...kids) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(el, name, value);
  append(el, kids);
  return el;
}

function set(el, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === 'on') for (const [event, fn] of Object.entries(value)) el.addEventListener(event, fn);
  else if (name === 'data') for (const [key, v] of Object.entries(value)) setData(el, key, v);
  else if (name === 'style') for (const [key, v] of Object.entries(value)) el.style.setProperty(key, v);
  else if (PROPERTIES.has(name)) el[name] = value;
  else el.setAttribute(name, value === true ? '' : value);
}

function setData(el, key, value) {
  if (value !== null && value !== undefined) el.setAttribute(`data-${key}`, value);
}

/** append adds kids of any nesting; strings become text nodes, empty ones are left out. */
export function append(el, kids) {
  for (const kid of [kids].flat(Infinity)) {
    if (kid === null || kid === undefined || kid === false || kid === '') continue;
    el.append(kid instanceof Node ? kid : String(kid));
  }
  return el;
}

/** fill replaces what el holds. */
export function fill(el, ...kids) {
  el.replaceChildren();
  return append(el, kids);
}

/** clear empties el and forgets what reconcile drew there. */
export function clear(el) {
  el.replaceChildren();
  el.drawn = new Map();
}

/**
 * reconcile makes parent show one element per item. An element whose
 * signature did not change is kept as it is, with its focus, its open menus
 * and its half-typed text.
 */
export function reconcile(parent, items, { key, sig, make }) {
  const old = parent.drawn ?? new Map();
  const next = new Map();
  const focus = rememberFocus(parent);
  let at = parent.firstChild;
  for (const item of items) {
    const k = key(item);
    const s = sig(item);
    const kept = old.get(k);
    const entry = kept?.sig === s ? kept : { sig: s, el: make(item) };
    if (kept && entry !== kept) {
      if (at === kept.el) at = kept.el.nextSibling;
      kept.el.replaceWith(entry.el);
    }
    next.set(k, entry);
    if (entry.el === at) at = at.nextSibling;
    else parent.insertBefore(entry.el, at);
  }
  for (const [k, entry] of old) if (!next.has(k)) entry.el.remove();
  parent.drawn = next;
  restoreFocus(parent, focus);
}

function rememberFocus(parent) {
  const el = document.activeElement;
  if (!el || el === document.body || !parent.contains(el)) return null;
  return { el, hook: el.getAttribute('data-focus') };
}

function restoreFocus(parent, focus) {
  if (!focus || focus.el.isConnected || !focus.hook) return;
  parent.querySelector(`[data-focus="${CSS.escape(focus.hook)}"]`)?.focus({ preventScroll: true });
}
