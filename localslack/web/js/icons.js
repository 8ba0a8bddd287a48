// Line icons, drawn here so that the page fetches nothing.

const SVG = 'http://www.w3.org/2000/svg';

const PATHS = {
  hash: ['M9 4 7 20', 'M17 4l-2 16', 'M4.5 9h16', 'M3.5 15h16'],
  lock: ['M6 11h12v9H6z', 'M8.5 11V8a3.5 3.5 0 0 1 7 0v3'],
  home: ['M4 11.5 12 4l8 7.5', 'M6 10v10h12V10', 'M10 20v-5h4v5'],
  back: ['M15 5l-7 7 7 7'],
  close: ['M6 6l12 12', 'M18 6 6 18'],
  send: ['M4 12l16-8-6 16-3-7z', 'M11 13l9-9'],
  reply: ['M5 6h14v10H11l-4 4v-4H5z'],
  smile: ['M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z', 'M9 10v.5', 'M15 10v.5', 'M8.5 14.5c2 2.3 5 2.3 7 0'],
  pencil: ['M5 19l1-4L16 5l3 3L9 18z', 'M14 7l3 3'],
  trash: ['M5 7h14', 'M9 7V4h6v3', 'M7 7l1 13h8l1-13', 'M10.5 11v5', 'M13.5 11v5'],
  up: ['M8 20H5v-9h3z', 'M8 11l3-7c2 0 2.5 1.5 2 3.5L12.5 10H18c1.5 0 2 1 1.7 2.3l-1.5 6c-.3 1.2-1 1.7-2.2 1.7H8z'],
  down: ['M8 4H5v9h3z', 'M8 13l3 7c2 0 2.5-1.5 2-3.5L12.5 14H18c1.5 0 2-1 1.7-2.3l-1.5-6C17.9 4.5 17.2 4 16 4H8z'],
  sun: ['M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z', 'M12 2v2.5', 'M12 19.5V22', 'M2 12h2.5', 'M19.5 12H22', 'M5 5l1.7 1.7', 'M17.3 17.3 19 19', 'M5 19l1.7-1.7', 'M17.3 6.7 19 5'],
  moon: ['M19 14.5A8 8 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5z'],
  auto: ['M12 4a8 8 0 1 0 0 16z', 'M12 4a8 8 0 0 1 0 16'],
  spark: ['M12 3l2 6 6 3-6 3-2 6-2-6-6-3 6-3z'],
  file: ['M6 3h8l4 4v14H6z', 'M14 3v4h4'],
  image: ['M4 5h16v14H4z', 'M4 16l5-5 4 4 3-3 4 4', 'M15.5 8.5v.5'],
  check: ['M5 12.5l4.5 4.5L19 7.5'],
  alert: ['M12 4 2.5 20h19z', 'M12 10v4.5', 'M12 17v.5'],
  more: ['M6 12h.01', 'M12 12h.01', 'M18 12h.01'],
  chevron: ['M6 9l6 6 6-6'],
  eye: ['M2.5 12S6 6 12 6s9.5 6 9.5 6-3.5 6-9.5 6-9.5-6-9.5-6z', 'M12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z'],
  link: ['M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7L12 6.3', 'M14 10a4 4 0 0 0-5.7 0l-3 3A4 4 0 0 0 11 18.7l1-1'],
  code: ['M8 7l-5 5 5 5', 'M16 7l5 5-5 5'],
  plus: ['M12 5v14', 'M5 12h14'],
  bolt: ['M13 3 5 14h6l-1 7 8-11h-6z'],
};

/** icon draws the named icon; it is decoration, the control around it carries the label. */
export function icon(name, size = 18) {
  const svg = document.createElementNS(SVG, 'svg');
  const attrs = { viewBox: '0 0 24 24', width: size, height: size, class: `icon icon-${name}`, 'aria-hidden': 'true' };
  for (const [k, v] of Object.entries(attrs)) svg.setAttribute(k, v);
  for (const d of PATHS[name] ?? PATHS.spark) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }
  return svg;
}
