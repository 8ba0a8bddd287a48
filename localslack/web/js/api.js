// Talks to the server: the snapshot, the event stream and what people do.

import { apply, changed, replaceSnapshot, state } from './store.js';
import { toast } from './toast.js';
import { t } from './words.js';

/** ApiError carries Slack's error code for something a person tried. */
export class ApiError extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** act posts what the person did; it resolves to the outcome or throws ApiError. */
export async function act(what, body) {
  const res = await fetch(`page/${what}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Local-Slack': 'page' },
    body: JSON.stringify({ user: state.route.as, ...body }),
  });
  const reply = await res.json().catch(() => ({ error: `http_${res.status}` }));
  if (!res.ok) throw new ApiError(reply.error ?? `http_${res.status}`);
  return reply;
}

/** attempt is act for callers that only need to know whether it worked; failures are shown. */
export async function attempt(what, body) {
  try {
    const outcome = await act(what, body);
    if (outcome.notice) toast(outcome.notice, 'warn');
    return outcome;
  } catch (err) {
    toast(explain(err), 'error');
    return null;
  }
}

const EXPLAIN = {
  not_in_channel: 'You are not a member of this channel. Join it first.',
  is_archived: 'This channel is archived.',
  cant_update_message: 'Only its author may change this message.',
  message_not_found: 'That message is gone.',
  no_such_command: 'The app has no such command.',
  no_text: 'There is nothing to send.',
  msg_too_long: 'This text is too long for one message.',
  not_found: 'That view is closed already.',
};

/** explain says in a sentence what went wrong. */
export function explain(err) {
  if (!(err instanceof ApiError)) return t('The server cannot be reached. Is the demo still running?');
  return EXPLAIN[err.code] ? t(EXPLAIN[err.code]) : t('That did not work: {code}.', { code: err.code });
}

/** load fetches the snapshot for a person (the server chooses one if the id is empty). */
export async function load(user) {
  const res = await fetch(`page/state?user=${encodeURIComponent(user)}`);
  if (!res.ok) throw new ApiError(`http_${res.status}`);
  replaceSnapshot(await res.json());
}

let source = null;
let retry = 0;

/** follow keeps the snapshot of one person current until another one is followed. */
export function follow(user) {
  source?.close();
  clearTimeout(retry);
  source = new EventSource(`page/events?user=${encodeURIComponent(user)}&after=${state.snap.seq}`);
  source.onopen = () => online(true);
  source.onmessage = (e) => receive(user, JSON.parse(e.data));
  source.onerror = () => {
    source.close();
    online(false);
    retry = setTimeout(() => reload(user), 1000);
  };
}

function receive(user, event) {
  if (event.kind === 'reset') reload(user);
  else if (event.kind === 'notice') toast(event.text, 'warn');
  else apply(event);
}

async function reload(user) {
  try {
    await load(user);
    follow(user);
  } catch {
    retry = setTimeout(() => reload(user), 2000);
  }
}

function online(is) {
  state.online = is;
  changed();
}
