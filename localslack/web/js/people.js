// Who you are: the switch between the people of the workspace.

import { avatar } from './avatar.js';
import { h, reconcile } from './dom.js';
import { openMenu } from './menu.js';
import { go } from './route.js';
import { callsFor, groupById, lookedAs, nameOf, noteOf, state } from './store.js';
import { t } from './words.js';

/** playable are the people that the page can be. */
export function playable() {
  return state.snap.people.filter((p) => !p.is_bot && !p.deleted);
}

/** roleOf says in a word what somebody is here: what their name says, their groups, or how they belong. */
export function roleOf(person) {
  if (noteOf(person)) return t(noteOf(person));
  if (person.is_bot) return t('app');
  if (person.is_stranger || person.team_id !== state.snap.team.id) return t('outsider');
  if (person.is_restricted || person.is_ultra_restricted) return t('guest');
  const groups = state.snap.usergroups.filter((g) => !g.disabled && g.members?.includes(person.id));
  return groups.map((g) => groupById(g.id).name || g.handle).join(', ') || t('team member');
}

/** become changes who you are and keeps the place, if that person may see it. */
export function become(id) {
  go({ as: id, channel: state.route.channel, thread: state.route.thread, home: state.route.home, nav: state.route.nav });
}

/** drawPeople fills the list in the side bar. */
export function drawPeople(list) {
  lookedAs(state.route.as);
  reconcile(list, playable(), {
    key: (p) => p.id,
    sig: (p) => JSON.stringify([p, roleOf(p), p.id === state.route.as, callsFor(p)]),
    make: (p) => h('button', {
      type: 'button', role: 'radio', 'aria-checked': String(p.id === state.route.as), class: 'person',
      data: { 'person-id': p.id, focus: `person/${p.id}` }, on: { click: () => become(p.id) },
    }, avatar(p, 28), h('span', { class: 'who' }, h('b', null, nameOf(p)), h('small', null, roleOf(p))), calls(p)),
  });
}

// A mark on somebody who was named while the page was somebody else: there is
// probably something for them to do.
function calls(p) {
  const count = callsFor(p);
  return count > 0 && h('span', { class: 'count', title: t('{name} was mentioned', { name: nameOf(p) }), data: { testid: 'called' } }, String(count));
}

/** personMenu opens the switch as a menu, where there is no room for the list. */
export function personMenu(anchor) {
  openMenu(anchor, playable().map((p) => ({
    icon: avatar(p, 24), label: nameOf(p), hint: roleOf(p), count: callsFor(p), data: { 'person-id': p.id }, pick: () => become(p.id),
  })), t('Who are you?'));
}
