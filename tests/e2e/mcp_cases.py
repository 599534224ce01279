"""Cases of mcp.bats: the protocol. Each is a function, named by the one argument.
The current folder is no pen yet."""

import os
import sys

from cases import *  # noqa: F403

# ---- the protocol --------------------------------------------------------------------------------

def both_eras():
    pens_add()
    open("a file", "w").close()
    for era in ERAS:
        with Client(PEN, era=era) as client:
            if era == STATELESS:
                found = client.ask("server/discover", {})["result"]
                assert found["supportedVersions"] == [STATELESS], found
            else:
                assert client.hello["result"]["protocolVersion"] == era, client.hello
            tools = client.ask("tools/list", {})["result"]["tools"]
            assert [tool["name"] for tool in tools] == [
                "pen_run_command", "pen_command_status", "pen_stop_command"]
            assert exited(client.run("ls"))["output"] == "a file\n"


def wrong_messages():
    pens_add()
    with Client(PEN) as client:
        for line, code in ((b"nonsense", -32700), (b"[]", -32600), (b"{\"jsonrpc\":\"2.0\"}", -32600),
                           (b"\xff\xfe", -32700), (b"[" * 5000, -32700)):
            client.send(line)
            answer = client.next()
            assert answer["error"]["code"] == code, (line[:20], answer)
        client.send(b"x" * (5 << 20))
        answer = client.next()
        assert answer["id"] is None and answer["error"]["code"] == -32600, answer
        assert "4 MiB" in answer["error"]["message"], answer
        assert "error" in client.wait(client.request("no/such", {}))
        answer = client.wait(client.request("tools/call", {"name": "rm"}))
        assert "'rm'" in answer["error"]["message"], answer
        exited(client.run("pwd"))


def wrong_arguments():
    pens_add()
    with Client(PEN) as client:
        for more in ({"extra": 1}, {"args": "x"}, {"args": [1]}, {"command": ""}, {"network": "no"},
                     {"deadline_seconds": 0}, {"deadline_seconds": 601}, {"deadline_seconds": 1.5},
                     {"background": 1}, {"working_directory": 1}):
            refused(client.call("pen_run_command", **{"command": "pwd", **more}))
        for seconds in (0, 601, 86401):  # one bound, whoever tells it
            refused(client.run("pwd", deadline_seconds=seconds), "from 1 to 600")
        refused(client.call("pen_run_command"), "command")
        refused(client.call("pen_command_status", job_id="j-unknown1"))
        refused(client.call("pen_command_status", job_id="j-unknown1", wait_seconds=11))
        refused(client.call("pen_stop_command", job_id="j-unknown1"))
        refused(client.run("pwd", network=True), "network")
        refused(client.run("no-such-program"), "no-such-program")


def bad_lines():
    """What one client's line is harms neither its own conversation nor another's."""
    pens_add()
    with Client(PEN) as client, Client(PEN) as other:
        for line in (b"\0" * 100, b"\xff" * (5 << 20), b"{" * (1 << 20), b'{"jsonrpc":"2.0","id":1,'):
            client.send(line)
            assert client.next()["error"]["code"] in (-32600, -32700), line[:10]
            exited(other.run("pwd"))
        for _ in range(64):  # 64 MiB without an end, and then the end
            client.process.stdin.write(b"x" * (1 << 20))
        exited(other.run("pwd"))
        client.send(b"")
        assert client.next()["error"]["code"] in (-32600, -32700)
        exited(client.run("pwd"))
        # Half a message, and silence: whoever waits is the one who sent it.
        client.process.stdin.write(b'{"jsonrpc":"2.0","id":77,"method":"tools/')
        exited(other.run("pwd"))
        client.send(b'list","params":{}}')
        assert client.wait(77)["result"]["tools"]


def no_signs_unasked():
    """Each kind of call, one with a token and one without: only the one with has signs, strictly
    increasing, and none after its answer."""
    grant(pens_add(), "sleep")
    with Client(PEN) as client:
        asked = [client.begin("pen_run_command", {"command": "sleep", "args": ["23"]},
                              progressToken=7),
                 client.begin("pen_run_command", {"command": "sleep", "args": ["23"]}),
                 client.begin("pen_run_command", {"command": "env"}, progressToken="waits")]
        exited(client.job(asked[0]))
        seen = len([note for note in client.notifications if note["params"]["progressToken"] == 7])
        exited(client.job(asked[1]))
        exited(client.run("pwd"))
        by_token = {}
        for note in client.notifications:
            assert note["method"] == "notifications/progress", note
            by_token.setdefault(note["params"]["progressToken"], []).append(note["params"]["progress"])
        assert set(by_token) == {7, "waits"}, by_token
        assert len(by_token[7]) == seen >= 2, by_token
        for signs in by_token.values():
            assert all(a < b for a, b in zip(signs, signs[1:])), by_token


def signs_of_life():
    grant(pens_add(), "sleep")
    with Client(PEN) as client:
        number = client.begin("pen_run_command", {"command": "sleep", "args": ["12"]},
                              progressToken="token")
        exited(client.job(number))
        tokens = [note["params"]["progressToken"] for note in client.notifications]
        assert tokens == ["token"], client.notifications


def as_the_schemas_say():
    """Each answer against the definition its revision has for it; and a wrong one, as a control."""
    import jsonschema

    grant(pens_add(), "sleep")
    for era in ERAS:
        with open(f"{os.environ['WATTLE_MCP_SCHEMAS']}/schema-{era}.json", encoding="utf-8") as file:
            schema = json.load(file)
        place = "definitions" if "definitions" in schema else "$defs"

        def valid(value, name):
            jsonschema.validate(value, {**schema, "$ref": f"#/{place}/{name}"})

        result = "JSONRPCResponse" if "JSONRPCResultResponse" not in schema[place] else (
            "JSONRPCResultResponse")
        error = "JSONRPCError" if "JSONRPCError" in schema[place] else "JSONRPCErrorResponse"
        with Client(PEN, era=era) as client:
            hello = client.ask("server/discover", {}) if era == STATELESS else client.hello
            valid(hello, result)
            valid(hello["result"], "DiscoverResult" if era == STATELESS else "InitializeResult")
            answer = client.ask("tools/list", {})
            valid(answer, result)
            valid(answer["result"], "ListToolsResult")
            output = answer["result"]["tools"][0]["outputSchema"]
            for arguments in ({"command": "pwd"}, {"command": "no-such"}, {"command": 7},
                              {"command": "true", "background": True}):
                answer = client.wait(client.begin("pen_run_command", arguments))
                valid(answer, result)
                valid(answer["result"], "CallToolResult")
                jsonschema.validate(answer["result"]["structuredContent"], output)
            valid(client.ask("no/such", {}), error)
            if era in (ERAS[-1], ERAS[-2]):  # a sign of life takes ten seconds
                client.wait(client.begin("pen_run_command", {"command": "sleep", "args": ["11"]},
                                         progressToken=1))
                assert client.notifications
            for note in client.notifications:
                valid(note, "ProgressNotification")
            try:
                valid({"tools": 7}, "ListToolsResult")
            except jsonschema.ValidationError:
                continue
            raise AssertionError("anything is valid")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
