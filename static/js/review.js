// A blind review, or a HIT of one's own read again: the passage with its tools, as the rating page has it.
import { startBoxes } from "./rate/boxes.js";
import { startKeys } from "./rate/keys.js";
import { startPassage } from "./rate/passage.js";

const root = document.getElementById("review");
const passage = startPassage(root);
const nothing = () => null;

startKeys({
  root,
  acts: { find: () => passage.find(), toSpan: () => passage.toSpan(), rate: nothing, leaveText: (target) => target.blur(), submit() {} },
});
root.addEventListener("focusin", (event) => {
  const question = event.target.closest(".question");
  if (question) passage.lightSpan(question.dataset.span);
});
startBoxes(root);
passage.lightSpan(root.querySelector(".question")?.dataset.span);
