// data_visualization blocks as plain bars: enough to read the numbers.

import { h } from './dom.js';

/** chart draws each series' points as labelled bars, whatever the chart's own shape. */
export function chart(b) {
  const points = pointsOf(b.chart ?? {});
  const most = Math.max(...points.map((p) => Math.abs(p.value)), 1);
  return h('figure', { class: 'chart' }, h('figcaption', null, b.title),
    points.map((p) => h('div', { class: 'bar' },
      h('span', { class: 'bar-label' }, p.label),
      h('span', { class: 'bar-track' }, h('i', { style: { width: `${(100 * Math.abs(p.value)) / most}%` } })),
      h('span', { class: 'bar-value' }, String(p.value)))));
}

function pointsOf(spec) {
  if (spec.segments) return spec.segments;
  return (spec.series ?? []).flatMap((s) => (s.data ?? []).map((p) => ({ label: spec.series.length > 1 ? `${s.name}: ${p.label}` : p.label, value: p.value })));
}
