// Where the person is looking, kept in the address so that a test or a link
// can open any state directly: #/PERSON/CHANNEL/THREAD, #/PERSON/home,
// #/PERSON (the list of channels on a phone). Names work like ids.

import { changed, state } from './store.js';

/** readRoute takes the address into state.route; what it does not name falls back to what exists. */
export function readRoute() {
  const [, as = '', place = '', thread = ''] = decodeURIComponent(location.hash).split('/');
  const person = find(state.snap.people, as) ?? find(state.snap.people, state.snap.me);
  const home = place === 'home';
  const channel = home ? null : find(state.snap.channels, place);
  state.route = {
    as: person?.id ?? '',
    channel: channel?.id ?? (home ? '' : firstChannel()),
    thread: channel ? thread : '',
    home,
    nav: !place,
  };
  changed();
}

const KEY = 'local-slack-person';

/** personInAddress is the person that the address names, else whoever this browser was last; asked before there is a snapshot. */
export function personInAddress() {
  const as = decodeURIComponent(location.hash).split('/')[1] ?? '';
  return as === '' || as === '-' ? localStorage.getItem(KEY) ?? '' : as;
}

/** remember notes who this browser is. */
export function remember(person) {
  localStorage.setItem(KEY, person);
}

/** go changes the address and with it what is shown. */
export function go(to) {
  const r = { ...state.route, thread: '', home: false, nav: false, ...to };
  const place = r.nav ? '' : r.home ? 'home' : r.channel;
  location.hash = ['#', r.as, place, r.thread].filter(Boolean).join('/');
}

function find(list, wanted) {
  const name = wanted.replace(/^[@#]/, '');
  return list.find((x) => x.id === wanted) ?? list.find((x) => name && x.name === name);
}

function firstChannel() {
  const open = state.snap.channels.filter((c) => !c.archived);
  return (open.find((c) => c.members.includes(state.snap.me)) ?? open[0])?.id ?? '';
}
