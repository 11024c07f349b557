// `node run.js FILE`: the tests of a file as JSON. It ends itself, because an open channel between tabs would keep it alive.
import { run } from "./checking.js";

process.stdout.write(`${JSON.stringify(await run(process.argv[2]))}\n`, () => process.exit(0));
