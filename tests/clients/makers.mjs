// The real clients of the test suite, by name: v1, v2, v2-auto; each as [client, transport's class].
// WATTLE_CLIENTS is the folder the packages were installed in.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.WATTLE_CLIENTS}/package.json`);
const about = { name: "wattle-test", version: "1" };
export const makers = {
    v1: () => {
        const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
        const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
        return [new Client(about), StdioClientTransport];
    },
    v2: (options) => {
        const { Client } = require("@modelcontextprotocol/client");
        const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
        return [new Client(about, options), StdioClientTransport];
    },
    "v2-auto": () => makers.v2({ versionNegotiation: { mode: "auto" } }),
};
