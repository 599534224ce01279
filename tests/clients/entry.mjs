// A real client that is configured by an entry of its settings: entry.mjs v1|v2|v2-auto PROGRAM
// [ARGUMENT...], as the entry has them. It starts that in an environment of the client's own choice,
// lists the tools, and prints what `pwd` says.
import assert from "node:assert/strict";
import { makers } from "./makers.mjs";

const [kind, command, ...args] = process.argv.slice(2);
const [client, Transport] = makers[kind]();

await client.connect(new Transport({ command, args, stderr: "ignore" }));
const { tools } = await client.listTools();
assert.equal(tools.length, 3);
const { structuredContent: job } = await client.callTool(
    { name: "pen_run_command", arguments: { command: "pwd" } });
assert.equal(job.state, "exited");
process.stdout.write(job.output);
await client.close();
