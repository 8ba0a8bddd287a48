// The Enter key in a box of several lines.

/**
 * enterSends makes Enter call send and leaves Shift+Enter alone. first(e) may
 * take a key for itself by returning true. An input method's Enter is its own;
 * and where the line break comes apart from its key, as from some keyboards
 * and from automation, the break of a key that we took is dropped.
 */
export function enterSends(box, send, first = () => false) {
  let taken = false;
  box.addEventListener('keydown', (e) => {
    taken = false;
    if (e.isComposing || e.keyCode === 229) return;
    const enter = e.key === 'Enter';
    if (first(e)) {
      taken = enter;
      return;
    }
    if (!enter || e.shiftKey) return;
    taken = true;
    e.preventDefault();
    send();
  });
  box.addEventListener('beforeinput', (e) => {
    if (taken && e.inputType === 'insertLineBreak') e.preventDefault();
  });
}
