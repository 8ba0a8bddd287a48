import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clock, formatDate, language } from '../js/dates.js';

const NOW = Date.UTC(2026, 2, 2, 12, 0, 0) / 1000; // a Monday, noon UTC
const ana = { tz: 'Europe/Paris', locale: 'en-GB' };
const zhang = { tz: 'Asia/Shanghai', locale: 'zh-CN' };

const cases = [
  [ana, NOW, '{date_num}', '2026-03-02'],
  [ana, NOW, '{time}', '13:00'],
  [zhang, NOW, '{time}', '20:00'],
  [{ tz: 'America/New_York', locale: 'en-US' }, NOW, '{time}', '7:00 AM'],
  [ana, NOW, '{date_short_pretty} at {time}', 'today at 13:00'],
  [zhang, NOW + 5 * 3600, '{date_pretty} {time}', '明天 1:00'],
  [ana, NOW + 5 * 3600, '{date_pretty} {time}', 'today 18:00'],
  [ana, NOW - 86400, '{date_pretty}', 'yesterday'],
  [ana, NOW + 9 * 86400, '{date_pretty}', '11 March 2026'],
  [zhang, NOW + 9 * 86400, '{date}', '2026年3月11日'],
  [ana, NOW + 3600, '{ago}', 'in 1 hour'],
  [zhang, NOW - 120, '{ago}', '2分钟前'],
  [ana, NOW, 'no token', 'no token'],
  [ana, NOW, '{nonsense}', 'fallback'],
  [ana, 'x', '{date}', 'fallback'],
  [ana, 9e15, '{date}', 'fallback'],
];

for (const [viewer, at, format, want] of cases) {
  test(`${format} for ${viewer.tz}`, () => assert.equal(settled(formatDate(at, format, viewer, 'fallback', NOW)), want));
}

// Versions of the language data differ in the width of a space and in leading zeros.
function settled(text) {
  return text.replace(/\s/g, ' ').replace(/\b0(\d:)/, '$1');
}

test('a zone that nobody knows does not break the page', () => {
  assert.ok(clock(String(NOW), { tz: 'Moon/Base', locale: 'xx-invalid-locale-zz' }).length > 0);
});

test('languages', () => {
  assert.equal(language({ locale: 'zh-TW' }), 'zh');
  assert.equal(language({ locale: 'fr' }), 'en');
  assert.equal(language(null), 'en');
});
