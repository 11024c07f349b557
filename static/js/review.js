// A spot check, or a HIT from the history: the passage with the same tools as on the rating page.
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
passage.lightSpan(root.querySelector(".question")?.dataset.span);
