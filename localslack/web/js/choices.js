// Elements with options: selects of every source, radio buttons, checkboxes.

import { hooks } from './buttons.js';
import { h } from './dom.js';
import { state } from './store.js';
import { plainText, textNodes } from './text.js';
import { t } from './words.js';

// What each kind of select chooses from, and under which key it reports.
const SOURCES = {
  static_select: { key: 'selected_option', initial: 'initial_option', groups: staticGroups },
  external_select: { key: 'selected_option', initial: 'initial_option', groups: staticGroups },
  users_select: { key: 'selected_user', initial: 'initial_user', groups: people },
  channels_select: { key: 'selected_channel', initial: 'initial_channel', groups: channels },
  conversations_select: { key: 'selected_conversation', initial: 'initial_conversation', groups: channels },
};

function staticGroups(element) {
  const entry = (option) => ({ id: option.value, label: plainText(option.text), hint: plainText(option.description), result: option });
  const initial = [element.initial_option ?? [], element.initial_options ?? []].flat();
  const groups = element.option_groups?.map((g) => ({ label: plainText(g.label), entries: g.options.map(entry) }));
  return groups ?? [{ entries: (element.options ?? initial).map(entry) }];
}

function people() {
  const alive = state.snap.people.filter((p) => !p.deleted);
  return [{ entries: alive.map((p) => ({ id: p.id, label: `@${p.name}`, hint: p.real_name, result: p.id })) }];
}

function channels() {
  return [{ entries: state.snap.channels.filter((c) => c.kind !== 'im').map((c) => ({ id: c.id, label: `#${c.name}`, result: c.id })) }];
}

/** select draws a single select as the browser's own control, which every keyboard and phone knows. */
export function select(element, at) {
  const source = SOURCES[element.type];
  const groups = source.groups(element);
  const all = groups.flatMap((g) => g.entries);
  const chosen = chosenNow(element, at, source);
  const el = h('select', {
    class: 'field select', id: at.id, 'aria-label': at.id ? null : plainText(element.placeholder) || t('Choose'), disabled: all.length === 0,
    autofocus: element.focus_on_load, 'aria-describedby': at.describedBy, data: { testid: 'select', ...hooks(at.block, element) },
    on: { change: () => choose(el, element, at, source, all.find((e) => e.id === el.value)?.result ?? null) },
  }, h('option', { value: '' }, plainText(element.placeholder) || t('Choose an option')), groups.map((g) => optionGroup(g, idOf(chosen))));
  return el;
}

function optionGroup(group, chosen) {
  const options = group.entries.map((e) => h('option', { value: e.id, selected: e.id === chosen }, e.hint ? `${e.label} – ${e.hint}` : e.label));
  return group.label ? h('optgroup', { label: group.label }, options) : options;
}

function idOf(result) {
  return typeof result === 'object' ? result?.value : result;
}

function chosenNow(element, { surface, block }, source) {
  const kept = surface.get(block.block_id, element.action_id);
  if (kept) return kept[source.key];
  const initial = element[source.initial] ?? null;
  surface.put(block.block_id, element.action_id, { type: element.type, [source.key]: initial });
  return initial;
}

function choose(el, element, { surface, block, dispatch }, source, result) {
  surface.put(block.block_id, element.action_id, { type: element.type, [source.key]: result });
  if (dispatch) surface.press(el, block, element, { selected: { [source.key]: result } });
}

/** multiSelect draws a multi select as a list of ticks. */
export function multiSelect(element, at) {
  const single = SOURCES[element.type.replace('multi_', '')];
  const entries = single.groups(element).flatMap((g) => g.entries.map((e) => ({ ...e, label: g.label ? `${g.label}: ${e.label}` : e.label })));
  const source = { key: `${single.key}s`, initial: `${single.initial}s` };
  return ticks(element, at, { source, entries, type: 'checkbox', css: 'ticks boxed', most: element.max_selected_items });
}

/** checkboxes draws its options as ticks. */
export function checkboxes(element, at) {
  const source = { key: 'selected_options', initial: 'initial_options' };
  return ticks(element, at, { source, entries: optionEntries(element), type: 'checkbox', css: 'ticks' });
}

/** radioButtons draws its options as radio buttons. */
export function radioButtons(element, at) {
  const source = { key: 'selected_option', initial: 'initial_option' };
  return ticks(element, at, { source, entries: optionEntries(element), type: 'radio', css: 'ticks' });
}

function optionEntries(element) {
  return (element.options ?? []).map((o) => ({ id: o.value, nodes: textNodes(o.text), hintNodes: textNodes(o.description), result: o }));
}

let radioGroups = 0;

function ticks(element, at, { source, entries, type, css, most }) {
  const chosen = chosenNow(element, at, source);
  const ids = new Set([chosen ?? []].flat().map(idOf));
  const group = `choice-${++radioGroups}`;
  const el = h('div', { class: css, id: at.id, role: type === 'radio' ? 'radiogroup' : 'group', tabindex: '-1', 'aria-labelledby': at.labelledBy, data: hooks(at.block, element) },
    entries.map((entry) => tick(entry, { type, group, checked: ids.has(entry.id), change: read })));
  function read() {
    const boxes = [...el.querySelectorAll('input')];
    const picked = entries.filter((_, i) => boxes[i].checked).map((e) => e.result);
    if (most) for (const box of boxes) box.disabled = !box.checked && picked.length >= most;
    choose(el, element, at, source, type === 'radio' ? picked[0] ?? null : picked);
  }
  return el;
}

function tick(entry, { type, group, checked, change }) {
  return h('label', { class: 'tick', data: { value: entry.id } },
    h('input', { type, name: group, checked, on: { change } }),
    h('span', null, entry.nodes ?? entry.label, (entry.hintNodes?.length || entry.hint) && h('small', null, entry.hintNodes ?? entry.hint)));
}
