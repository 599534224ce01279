// The protocol's own tests know servers over HTTP only: shim.mjs COMMAND [ARGUMENT...] puts one that
// talks on stdin and stdout behind http://localhost:PORT/mcp, and prints that address. What HTTP
// itself asks for (headers, streams that are taken up again, foreign hosts) is not what is tested.
//
// Each session of the protocol with a handshake is a process of its own; all requests without a
// session share one, which therefore never sees a handshake.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { randomUUID } from "node:crypto";

const STATUS = { "-32020": 400, "-32021": 400, "-32022": 400, "-32600": 400, "-32602": 400, "-32700": 400, "-32601": 404 };
const [command, ...args] = process.argv.slice(2);
const sessions = new Map();

function start() {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    const waiting = new Map(); // our id: { id, token, send }
    let last = 0;
    createInterface({ input: child.stdout }).on("line", (line) => {
        const message = JSON.parse(line);
        const token = message.params?.progressToken;
        const [key, asked] = message.method
            ? [...waiting].find(([, one]) => one.token === token && token !== undefined) ?? []
            : [message.id, waiting.get(message.id) ?? waiting.get(null)];
        if (!asked) return;
        if (message.method) return asked.send(message, false);
        waiting.delete(key);
        asked.send({ ...message, id: asked.id ?? null }, true);
    });
    const write = (message) => child.stdin.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
    return {
        end: () => child.stdin.end(),
        tell(message) {
            const of = message.params?.requestId;
            const [key] = [...waiting].find(([, one]) => one.id === of) ?? [];
            write(of === undefined ? message : { ...message, params: { ...message.params, requestId: key } });
        },
        ask(message, send) {
            const key = ++last;
            waiting.set(key, { id: message.id, token: message.params?._meta?.progressToken, send });
            write({ ...message, id: key });
        },
        askRaw(text, send) { // no message: the answer has no id
            waiting.set(null, { id: null, send });
            write(text);
        },
    };
}

const shared = start();

function reply(response, stateless, streams, headers) {
    return (message, isLast) => {
        if (!isLast || response.headersSent) {
            if (!streams) return;
            if (!response.headersSent) response.writeHead(200, { ...headers, "Content-Type": "text/event-stream" });
            response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
            if (isLast) response.end();
            return;
        }
        const status = stateless && message.error ? STATUS[message.error.code] ?? 200 : 200;
        response.writeHead(status, { ...headers, "Content-Type": "application/json" });
        response.end(JSON.stringify(message));
    };
}

function serve(request, response, body) {
    const id = request.headers["mcp-session-id"];
    let message;
    try {
        message = JSON.parse(body);
    } catch {
        return shared.askRaw(body.replaceAll("\n", " "), reply(response, true, false, {}));
    }
    const begins = message.method === "initialize" && !message.params?._meta?.["io.modelcontextprotocol/protocolVersion"];
    const headers = {};
    let to = id ? sessions.get(id) : shared;
    if (begins) {
        const fresh = randomUUID();
        sessions.set(fresh, to = start());
        headers["Mcp-Session-Id"] = fresh;
    }
    if (!to) return response.writeHead(404).end();
    if (Array.isArray(message)) return to.askRaw(body, reply(response, true, false, {}));
    if (message.id === undefined || message.id === null) {
        to.tell(message);
        return response.writeHead(202).end();
    }
    const streams = (request.headers.accept ?? "").includes("text/event-stream");
    to.ask(message, reply(response, !begins && !id, streams, headers));
}

const server = createServer((request, response) => {
    const id = request.headers["mcp-session-id"];
    if (request.method === "DELETE") {
        sessions.get(id)?.end();
        return response.writeHead(sessions.delete(id) ? 200 : 404).end();
    }
    if (request.method !== "POST") return response.writeHead(405, { Allow: "POST, DELETE" }).end();
    let body = "";
    request.setEncoding("utf8").on("data", (some) => { body += some; }).on("end", () => serve(request, response, body));
});
server.listen(0, "localhost", () => console.log(`http://localhost:${server.address().port}/mcp`));
