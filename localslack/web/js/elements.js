// Which element is drawn by what.

import { button, feedback, iconButton, overflow, picture, workflowButton } from './buttons.js';
import { checkboxes, multiSelect, radioButtons, select } from './choices.js';
import { h } from './dom.js';
import { field, filePick } from './fields.js';
import { textNodes } from './text.js';

const ELEMENTS = {
  button, overflow, checkboxes,
  icon_button: iconButton,
  feedback_buttons: feedback,
  workflow_button: workflowButton,
  radio_buttons: radioButtons,
  static_select: select, external_select: select, users_select: select, channels_select: select, conversations_select: select,
  multi_static_select: multiSelect, multi_external_select: multiSelect, multi_users_select: multiSelect,
  multi_channels_select: multiSelect, multi_conversations_select: multiSelect,
  plain_text_input: field, number_input: field, email_text_input: field, url_text_input: field, rich_text_input: field,
  datepicker: field, timepicker: field, datetimepicker: field,
  file_input: filePick,
  image: (element) => picture(element, { size: 'thumb' }),
};

/** drawElement draws one element of a block; at is {surface, block, dispatch, id?, describedBy?}. */
export function drawElement(element, at) {
  const draw = ELEMENTS[element.type];
  if (draw) return draw(element, at);
  return h('span', { class: 'unknown' }, `[${element.type}] `, textNodes(element.text));
}
