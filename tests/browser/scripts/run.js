// `node run.js FILE`: the tests of a file as JSON.
import { run } from "./checking.js";

console.log(JSON.stringify(await run(process.argv[2])));
