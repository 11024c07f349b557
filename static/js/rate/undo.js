// What was done on this page, newest last, so that it can be taken back step by step.
const MOST = 200;

export class Undo {
  constructor(button) {
    this.acts = [];
    this.button = button;
    this.isOpen = false; // the newest act is text or a slide that goes on
  }

  // Typing and sliding in one field are one act until the field is left.
  note(field, before, after, { goesOn }) {
    const last = this.acts.at(-1);
    const isSame = goesOn && this.isOpen && last?.field === field;
    if (isSame) {
      last.after = after;
      if (last.before === after) this.acts.pop();
    } else {
      this.acts.push({ field, before, after });
      if (this.acts.length > MOST) this.acts.shift();
    }
    this.isOpen = goesOn;
    this.show();
  }

  close() {
    this.isOpen = false;
  }

  take() {
    const act = this.acts.pop();
    this.isOpen = false;
    this.show();
    return act;
  }

  show() {
    if (this.button) this.button.hidden = this.acts.length === 0;
  }
}
