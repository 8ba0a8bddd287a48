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
  status(s, { channel, statuses }) { s.statuses[channel] = statuses; },
};

/** apply works one event of the stream into the snapshot. */
export function apply(event) {
  if (!state.snap) return;
  APPLY[event.kind]?.(state.snap, event);
  changed();
}

function byTS(a, b) {
  return a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0;
}

/** me is the person whose view this is. */
export function me() {
  return personById(state.route.as);
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
