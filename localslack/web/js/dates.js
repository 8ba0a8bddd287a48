// Dates as the viewer reads them: in that person's own zone and language.

const DAY = 86400;

const FORMATS = {
  date_num: { year: 'numeric', month: '2-digit', day: '2-digit' },
  date: { year: 'numeric', month: 'long', day: 'numeric' },
  date_short: { year: 'numeric', month: 'short', day: 'numeric' },
  date_long: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
  time: { hour: 'numeric', minute: '2-digit' },
  time_secs: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
};

const PRETTY = { date_pretty: 'date', date_short_pretty: 'date_short', date_long_pretty: 'date_long', day_divider_pretty: 'date_long' };

/** formatDate fills a Slack date format such as "{date_short} at {time}"; an unknown token gives the fallback. */
export function formatDate(unix, format, viewer, fallback = '', now = Date.now() / 1000) {
  const seconds = Number(unix);
  if (!Number.isFinite(seconds) || Math.abs(seconds) > 8e12) return fallback;
  let known = true;
  const text = format.replace(/\{([a-z_]+)\}/g, (_, token) => {
    const value = tokenText(seconds, token, viewer, now);
    if (value === null) known = false;
    return value ?? '';
  });
  return known ? text : fallback;
}

function tokenText(seconds, token, viewer, now) {
  if (token === 'ago') return ago(seconds, now, viewer);
  const base = PRETTY[token];
  if (base) return dayName(seconds, now, viewer) ?? plain(seconds, FORMATS[base], viewer);
  if (token === 'date_num') return isoDay(seconds, viewer);
  return FORMATS[token] ? plain(seconds, FORMATS[token], viewer) : null;
}

function plain(seconds, options, viewer) {
  return formatter(options, viewer).format(new Date(seconds * 1000));
}

const made = new Map();

function formatter(options, viewer) {
  const key = `${viewer?.locale}|${viewer?.tz}|${JSON.stringify(options)}`;
  if (!made.has(key)) made.set(key, newFormatter(options, viewer));
  return made.get(key);
}

function newFormatter(options, viewer) {
  try {
    return new Intl.DateTimeFormat(viewer?.locale || 'en', { ...options, timeZone: viewer?.tz || undefined });
  } catch {
    return new Intl.DateTimeFormat('en', options); // a zone or language that this browser does not know
  }
}

function isoDay(seconds, viewer) {
  const parts = formatter(FORMATS.date_num, { tz: viewer?.tz, locale: 'en' }).formatToParts(new Date(seconds * 1000));
  const part = (type) => parts.find((p) => p.type === type)?.value;
  return `${part('year')}-${part('month')}-${part('day')}`;
}

const DAY_NAMES = { en: ['yesterday', 'today', 'tomorrow'], zh: ['昨天', '今天', '明天'] };

function dayName(seconds, now, viewer) {
  const day = isoDay(seconds, viewer);
  const names = DAY_NAMES[language(viewer)];
  for (const [i, offset] of [-DAY, 0, DAY].entries()) if (isoDay(now + offset, viewer) === day) return names[i];
  return null;
}

function ago(seconds, now, viewer) {
  const diff = Math.round(seconds - now);
  const units = [['day', DAY], ['hour', 3600], ['minute', 60]];
  const [unit, size] = units.find(([, s]) => Math.abs(diff) >= s) ?? ['second', 1];
  return new Intl.RelativeTimeFormat(language(viewer), { numeric: 'auto' }).format(Math.round(diff / size), unit);
}

/** language is the viewer's, as this page knows it: "zh" or "en". */
export function language(viewer) {
  return (viewer?.locale ?? 'en').toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

/** clock is the time of a message beside its author. */
export function clock(ts, viewer) {
  return plain(Number(ts), FORMATS.time, viewer);
}

/** fullTime is the exact time shown on hover. */
export function fullTime(ts, viewer) {
  return plain(Number(ts), { ...FORMATS.date_long, ...FORMATS.time_secs, timeZoneName: 'short' }, viewer);
}

/** dayOf names the day that a message belongs to, for the divider above it. */
export function dayOf(ts, viewer) {
  const text = formatDate(ts, '{day_divider_pretty}', viewer);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
