// A conversation with `wattle mcp` by a real client: talk.mjs v1|v2|v2-auto. The current folder is a
// pen in which `sleep` is granted.
import assert from "node:assert/strict";
import { makers } from "./makers.mjs";

const [client, Transport] = makers[process.argv[2]]();
const call = async (name, given, options) => {
    const params = { name, arguments: given };
    const result = process.argv[2] === "v1"
        ? await client.callTool(params, undefined, options)
        : await client.callTool(params, options);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result;
};

await client.connect(new Transport({
    command: process.env.WATTLE,
    args: ["mcp", "--pen", process.cwd()],
    env: { HOME: process.env.HOME, PATH: process.env.PATH },
}));
assert.equal(client.getServerVersion().name, "wattle");

// Listed first: a client then checks each structured result against the tool's outputSchema.
const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name),
    ["pen_run_command", "pen_command_status", "pen_stop_command"]);

let { structuredContent: job, isError } = await call("pen_run_command", { command: "pwd" });
assert.equal(job.state, "exited");
assert.equal(job.output, `${process.cwd()}\n`);
assert.ok(!isError);

({ structuredContent: job, isError } = await call("pen_run_command", { command: "no-such" }));
assert.equal(job.state, "refused");
assert.ok(isError);

({ structuredContent: job } = await call("pen_run_command", { command: "true", background: true }));
assert.equal(job.state, "awaiting_approval");
({ structuredContent: job } = await call("pen_stop_command", { job_id: job.job_id }));
assert.equal(job.state, "stopped");

({ structuredContent: job } = await call("pen_run_command",
    { command: "sleep", args: ["300"], background: true }));
assert.equal(job.state, "running");
({ structuredContent: job } = await call("pen_command_status",
    { job_id: job.job_id, wait_seconds: 1 }));
assert.equal(job.state, "running");
({ structuredContent: job } = await call("pen_stop_command", { job_id: job.job_id }));
assert.equal(job.state, "stopped");

// A call that is given up: the client's answer is an error of its own, and the next call works.
const abort = new AbortController();
const given = call("pen_run_command", { command: "sleep", args: ["301"] }, { signal: abort.signal });
setTimeout(() => abort.abort(), 300);
await assert.rejects(given);
({ structuredContent: job } = await call("pen_run_command", { command: "pwd" }));
assert.equal(job.state, "exited");

await client.close();
