// Breaking things on purpose, to see how the app takes it.

import { attempt } from './api.js';
import { openMenu } from './menu.js';
import { toast } from './toast.js';
import { t } from './words.js';

const FAULTS = {
  duplicate: 'Deliver the next mention three times',
  delay: 'Deliver the next thing 5 s late',
  drop: 'Lose the next click',
  limit: 'Answer the next three calls with 429',
  lost: 'Lose the answer to the next post',
  disconnect: 'Cut the connection',
  mend: 'Mend everything',
};

/** faultMenu opens the list of what can be broken. */
export function faultMenu(anchor) {
  openMenu(anchor, Object.entries(FAULTS).map(([name, label]) => ({ label: t(label), data: { fault: name }, pick: () => breakIt(name, t(label)) })), t('Break something'));
}

async function breakIt(name, label) {
  if (await attempt('break', { name })) toast(t('Done: {what}.', { what: label }));
}
