// What this page knows: one person's view of the workspace, kept current by
// the event stream, and where in it the person is looking.

/** state is everything that the drawing functions read. */
export const state = {
  snap: null,      // the server's snapshot for the person in route.as
  route: { as: '', channel: '', thread: '', home: false, nav: false },
  panel: 'try',    // what the right column shows while no thread is open: "try" or ""
  online: false,
};

const listeners = new Set();
let scheduled = false;

/** onChange calls fn after changes, at most once a frame. */
export function onChange(fn) {
  listeners.add(fn);
}

/** changed schedules a drawing. */
export function changed() {
  if (scheduled) return;
  scheduled = true;
  queueMicrotask(() => {
    scheduled = false;
    for (const fn of listeners) fn();
  });
}

/** replaceSnapshot takes a fresh snapshot. */
export function replaceSnapshot(snap) {
  state.snap = snap;
  for (const id of Object.keys(snap.messages)) snap.messages[id].sort(byTS);
  expire(Object.values(snap.statuses).flat());
  changed();
}

const APPLY = {
  message(s, { message: m }) {
    const list = (s.messages[m.channel] ??= []);
    const at = list.findIndex((x) => x.ts === m.ts);
    if (at < 0) list.push(m);
    else list[at] = m;
    list.sort(byTS);
  },
  gone(s, { channel, ts }) {
    s.messages[channel] = (s.messages[channel] ?? []).filter((m) => m.ts !== ts);
  },
  channels(s, { channels, messages }) {
    s.channels = channels;
    for (const [id, list] of Object.entries(messages ?? {})) s.messages[id] = list;
  },
  people(s, { people, usergroups }) {
    s.people = people;
    s.usergroups = usergroups;
  },
  views(s, { views }) { s.views = views; },
  home(s, { home }) { s.home = home; },
  sockets(s, { sockets }) { s.sockets = sockets; },
  status(s, { channel, statuses }) {
    s.statuses[channel] = statuses;
    expire(statuses);
  },
};

/** apply works one event of the stream into the snapshot. */
export function apply(event) {
  if (!state.snap) return;
  APPLY[event.kind]?.(state.snap, event);
  changed();
}

// A status goes by itself: nobody tells when its time is over.
function expire(statuses) {
  for (const s of statuses) setTimeout(changed, Math.max(0, Date.parse(s.until) - Date.now()) + 50);
}

function byTS(a, b) {
  return a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0;
}

/** me is the person whose view this is. */
export function me() {
  return personById(state.route.as);
}

/** nameOf is what a person is called, without what stands in brackets behind it. */
export function nameOf(person) {
  return bracketed(person)?.[1] ?? (person?.real_name || person?.name || '');
}

/** noteOf is what stands in brackets behind a person's name: who they are in the demo. */
export function noteOf(person) {
  return bracketed(person)?.[2] ?? '';
}

function bracketed(person) {
  return (person?.real_name ?? '').match(/^(.*\S)\s*[(（]([^()（）]+)[)）]$/);
}

/** myName is what you are called. */
export function myName() {
  return nameOf(me());
}

/** personById finds a person or bot. */
export function personById(id) {
  return state.snap?.people.find((p) => p.id === id) ?? null;
}

/** channelById finds a channel that this person sees. */
export function channelById(id) {
  return state.snap?.channels.find((c) => c.id === id) ?? null;
}

/** groupById finds a user group. */
export function groupById(id) {
  return state.snap?.usergroups.find((g) => g.id === id) ?? null;
}

/** bot is the app's own person. */
export function bot() {
  return personById(state.snap?.app.user_id);
}

/** isReply tells a thread reply from a root. */
export function isReply(m) {
  return Boolean(m.thread_ts) && m.thread_ts !== m.ts;
}

/** channelMessages are the roots and broadcast replies of a channel, in order. */
export function channelMessages(id) {
  return (state.snap?.messages[id] ?? []).filter((m) => !isReply(m) || m.broadcast);
}

/** threadMessages are a root (if it still exists) and its replies. */
export function threadMessages(id, root) {
  return (state.snap?.messages[id] ?? []).filter((m) => m.ts === root || m.thread_ts === root);
}

/** channelTitle is a channel's name as people see it; a direct message bears the other side's name. */
export function channelTitle(channel) {
  if (channel.kind !== 'im') return channel.name;
  const other = channel.members.find((id) => id !== state.route.as);
  return personById(other)?.name ?? channel.name;
}

/** statusesOf are what the bot says it is doing in a channel's threads, as far as it still holds. */
export function statusesOf(channel) {
  return (state.snap.statuses[channel] ?? []).filter((s) => s.text && Date.parse(s.until) > Date.now());
}

const seen = new Map();

/** markSeen notes that the person has read a channel up to now. */
export function markSeen(channel) {
  const last = (state.snap?.messages[channel] ?? []).at(-1)?.ts ?? '0';
  seen.set(`${state.route.as}/${channel}`, last);
}

/** unseen counts what others wrote in a channel since the person looked at it on this page. */
export function unseen(channel) {
  const key = `${state.route.as}/${channel}`;
  const list = state.snap?.messages[channel] ?? [];
  if (!seen.has(key)) seen.set(key, list.at(-1)?.ts ?? '0');
  return list.filter((m) => m.ts > seen.get(key) && m.user !== state.route.as).length;
}

const started = Date.now() / 1000;
const looked = new Map();

/** lookedAs notes that the page has shown this person everything up to now. */
export function lookedAs(person) {
  looked.set(person, Object.values(state.snap.messages).reduce((last, list) => Math.max(last, Number(list.at(-1)?.ts ?? 0)), started));
}

/** callsFor counts the messages that name somebody or a group of theirs since the page last was that person. */
export function callsFor(person) {
  const since = looked.get(person.id) ?? started;
  const names = [`<@${person.id}>`, `"${person.id}"`, ...state.snap.usergroups.filter((g) => g.members?.includes(person.id)).flatMap((g) => [`subteam^${g.id}`, `"${g.id}"`])];
  return Object.values(state.snap.messages).flat().filter((m) => m.ts > since && m.user !== person.id && !m.ephemeral_to && names.some((n) => JSON.stringify([m.text, m.blocks]).includes(n))).length;
}
