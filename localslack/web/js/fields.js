// Elements that are filled in: text, numbers, dates, files.

import { hooks } from './buttons.js';
import { h } from './dom.js';
import { me } from './store.js';
import { plainText } from './text.js';

// How each field looks, and under which key it reports.
const FIELDS = {
  plain_text_input: { key: 'value', type: 'text' },
  number_input: { key: 'value', type: 'text', mode: 'decimal' },
  email_text_input: { key: 'value', type: 'email' },
  url_text_input: { key: 'value', type: 'url' },
  datepicker: { key: 'selected_date', initial: 'initial_date', type: 'date' },
  timepicker: { key: 'selected_time', initial: 'initial_time', type: 'time' },
  rich_text_input: { key: 'rich_text_value', multiline: true, read: richRead, write: richWrite },
  datetimepicker: { key: 'selected_date_time', initial: 'initial_date_time', type: 'datetime-local', read: unixRead, write: unixWrite },
};

/** field draws a text-like input; its value is noted at every keystroke. */
export function field(element, at) {
  const spec = FIELDS[element.type];
  const multiline = spec.multiline || element.multiline;
  const kept = at.surface.get(at.block.block_id, element.action_id);
  const initial = kept ? kept[spec.key] : element[spec.initial ?? 'initial_value'] ?? null;
  if (!kept) at.surface.put(at.block.block_id, element.action_id, { type: element.type, [spec.key]: initial });
  const el = h(multiline ? 'textarea' : 'input', {
    ...attributes(element, spec, at, multiline),
    value: (spec.write ?? ((v) => v ?? ''))(initial),
    on: { input: () => note(), keydown: (e) => enter(e) },
  });
  function note() {
    const value = el.value === '' ? null : (spec.read ?? ((v) => v))(el.value);
    at.surface.put(at.block.block_id, element.action_id, { type: element.type, [spec.key]: value });
    if (at.dispatch && spec.initial) report(value);
  }
  function report(value) {
    at.surface.press(el, at.block, element, { selected: { [spec.key]: value } });
  }
  function enter(e) {
    if (e.key === 'Enter' && at.dispatch && !multiline) report(el.value);
  }
  return el;
}

function attributes(element, spec, at, multiline) {
  return {
    class: 'field', id: at.id, type: multiline ? null : spec.type, inputmode: spec.mode, autocomplete: 'off', spellcheck: 'false',
    rows: multiline ? String(Math.min(10, Math.max(3, (element.initial_value?.split?.('\n').length ?? 0) + 1))) : null,
    placeholder: plainText(element.placeholder), maxlength: element.max_length, autofocus: element.focus_on_load,
    'aria-label': at.id ? null : plainText(element.placeholder) || element.action_id, 'aria-describedby': at.describedBy,
    data: { testid: 'field', ...hooks(at.block, element) },
  };
}

function richRead(text) {
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text }] }] };
}

function richWrite(block) {
  return (block?.elements ?? []).map((section) => (section.elements ?? []).map((e) => e.text ?? e.url ?? '').join('')).join('\n');
}

// datetime-local speaks of the browser's zone; Slack's value is unix seconds.
function unixRead(text) {
  const ms = new Date(text).getTime();
  return Number.isFinite(ms) ? Math.round(ms / 1000) : null;
}

function unixWrite(seconds) {
  if (!seconds) return '';
  const at = new Date(seconds * 1000);
  return new Date(seconds * 1000 - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/** filePick draws a file_input; files are not sent anywhere, since no view of ours takes one. */
export function filePick(element, at) {
  return h('p', { class: 'muted', id: at.id }, `Files cannot be picked here, ${me()?.name ?? ''}: attach them to a message instead.`);
}
