// The box to write in: Enter sends, Shift+Enter breaks the line, "@" offers people.

import { attempt } from './api.js';
import { h } from './dom.js';
import { enterSends } from './enter.js';
import { icon } from './icons.js';
import { state } from './store.js';
import { Suggestions } from './suggest.js';
import { toast } from './toast.js';
import { t, word } from './words.js';

const MAX_FILE = 1 << 20; // bytes; enough to try what the bot does with a file

const drafts = new Map();

export class Composer {
  /** testid names the box; sent(message) is called with every message that was posted. */
  constructor({ testid, sent }) {
    this.sent = sent;
    this.files = [];
    this.place = null;
    this.input = h('textarea', { class: 'composer-input', rows: '1', autocomplete: 'off', role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false', data: { testid }, on: { input: () => this.typed(), paste: (e) => this.take(e.clipboardData?.files, e) } });
    this.button = h('button', { type: 'submit', class: 'send', data: { testid: `${testid}-send`, 'say-label': 'Send' } }, icon('send', 17));
    this.pick = h('input', { type: 'file', multiple: true, hidden: true, on: { change: () => { this.take(this.pick.files); this.pick.value = ''; } } });
    this.chips = h('div', { class: 'chips' });
    this.suggest = new Suggestions(this.input);
    enterSends(this.input, () => this.send(), (e) => this.suggest.key(e));
    this.el = h('form', { class: 'composer', on: { submit: (e) => { e.preventDefault(); this.send(); } } },
      this.suggest.el, this.chips, this.input,
      h('div', { class: 'composer-bar' },
        h('button', { type: 'button', class: 'iconbutton', data: { 'say-label': 'Attach a file' }, on: { click: () => this.pick.click() } }, icon('plus', 16)),
        h('button', { type: 'button', class: 'iconbutton at', data: { 'say-label': 'Mention somebody' }, on: { click: () => this.insert('@') } }, '@'),
        h('span', { class: 'composer-hint' }, h('kbd', null, 'Enter'), ' ', word('span', 'sends')), this.button), this.pick);
  }

  /** show points the box at a place {user, channel, thread} and brings back what was being written there. */
  show(place, placeholder) {
    const key = JSON.stringify(place);
    this.input.placeholder = placeholder;
    this.input.setAttribute('aria-label', placeholder);
    if (key === this.shown) return;
    this.shown = key;
    this.place = place;
    this.input.value = drafts.get(key) ?? '';
    this.files = [];
    this.typed();
    this.suggest.close();
  }

  /** put replaces what is written and takes the focus. */
  put(text) {
    this.input.value = text;
    this.typed();
    this.suggest.close();
    this.input.focus();
    this.input.setSelectionRange(text.length, text.length);
  }

  insert(text) {
    const { selectionStart: at, value } = this.input;
    const lead = at > 0 && !/\s/.test(value[at - 1]) ? ' ' : '';
    this.input.setRangeText(lead + text, at, this.input.selectionEnd, 'end');
    this.input.focus();
    this.typed();
  }

  typed() {
    drafts.set(this.shown, this.input.value);
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(this.input.scrollHeight, 220)}px`;
    this.button.disabled = !this.input.value.trim() && !this.files.length;
    this.suggest.look();
    this.drawChips();
  }

  async send() {
    const text = this.input.value;
    const { files, place } = this;
    if (this.sending || (!text.trim() && !files.length)) return;
    this.sending = true;
    this.el.setAttribute('aria-busy', 'true');
    const posted = await post(place, text, files);
    this.sending = false;
    this.el.removeAttribute('aria-busy');
    if (!posted) return;
    drafts.delete(JSON.stringify(place));
    if (this.place === place) {
      this.input.value = '';
      this.files = [];
      this.typed();
    }
    if (posted.message) this.sent(posted.message);
  }

  async take(list, event) {
    const files = [...(list ?? [])].filter((f) => f.size > 0 && f.size <= MAX_FILE);
    if (!files.length) return;
    event?.preventDefault();
    for (const f of files) this.files.push({ name: f.name, content: await base64(f) });
    this.typed();
  }

  drawChips() {
    this.chips.replaceChildren(...this.files.map((f) => h('button', { type: 'button', class: 'chip', title: t('Take away'), on: { click: () => { this.files = this.files.filter((x) => x !== f); this.typed(); } } }, icon('file', 14), f.name, icon('close', 12))));
  }
}

// A slash command goes to the app and never becomes a message; Slack does not
// offer them in threads.
async function post(place, text, files) {
  const command = text.match(/^(\/[a-z][\w-]*)(?:\s+([\s\S]*))?$/i);
  if (!command || !state.snap.commands.length) return attempt('say', { channel: place.channel, thread_ts: place.thread || undefined, text, files });
  if (!place.thread) return attempt('slash', { channel: place.channel, name: command[1], text: command[2] ?? '' });
  toast(t('Slash commands do not work in threads.'), 'warn');
  return null;
}

async function base64(file) {
  const url = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  return url.slice(url.indexOf(',') + 1);
}
