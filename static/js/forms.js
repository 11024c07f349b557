// On every page, before its other scripts, because a press must not be quicker: acts that cannot be undone ask first, and a form is sent
// once. With their few imports they are fetched together with the styles, which the first picture of the page waits for.
import { startConfirm } from "./confirm.js";
import { startSending } from "./sending.js";

startConfirm();
startSending();
