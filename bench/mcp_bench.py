#!/usr/bin/env python3
"""mcp_bench.py ROUNDS PEN [WORD...]: called by bench/mcp.sh, in a home of its own. The words are a
bubblewrap line for /bin/true (bwrap_line.py); none: there is no bubblewrap."""
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "helpers"))
from mcp_talk import Client, WATTLE, host_pid, pens_add, grant, wattle  # noqa: E402

ROUNDS = int(sys.argv[1])
PEN = sys.argv[2]
BWRAP = sys.argv[3:]
TRUE = "/bin/true"
AT_ONCE = 4
FLOODS = 32
GOALS = {"run": 1.5, "throughput": 2.0, "idle": 4096, "status": 50.0}
failed = []


def verdict(name, value, reached, text):
    print(f"  {text:<66} goal {GOALS[name]:g}: {'reached' if reached else 'MISSED'}", flush=True)
    if not reached:
        failed.append(name)


# ---- processes, started as cheaply as python can -------------------------------------------------

def spawn(words):
    """A leading "@9=FILE" is descriptor 9, opened from FILE."""
    actions = []
    if words[0].startswith("@"):
        number, path = words[0][1:].split("=", 1)
        actions, words = [(os.POSIX_SPAWN_OPEN, int(number), path, os.O_RDONLY, 0)], words[1:]
    return os.posix_spawnp(words[0], words, os.environ, file_actions=actions)


def reap(pid=-1):
    pid, status = os.waitpid(pid, 0)
    assert status == 0, status


def time_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def pss_of(pid):
    """KiB; None where this user may not look."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except OSError:
        return None


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(word) for word in file.read().split()]
    return found


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def pss_of_job(pid):
    """Of a job's own processes: the one the host started, and pid 1 of the job."""
    family = [pid] + [child for child in children(pid) if program_of(child) == program_of(pid)]
    return sum(pss_of(one) or 0 for one in family)


# ---- what is measured ----------------------------------------------------------------------------

def one(client):
    job = client.run(TRUE)
    assert job["state"] == "exited" and job["exit_code"] == 0, job


def run_to_result(client):
    run = [WATTLE, "run", "-q", "--pen", PEN, "--", TRUE]
    ratios, ours, theirs = [], [], []
    for _ in range(3):
        one(client)
        reap(spawn(run))
    for _ in range(ROUNDS):
        ours.append(time_of(lambda: one(client)))
        theirs.append(time_of(lambda: reap(spawn(run))))
        ratios.append(ours[-1] / theirs[-1])
    ratio = statistics.median(ratios)
    verdict("run", ratio, ratio <= GOALS["run"],
            f"over MCP {statistics.median(ours) * 1e3:.1f} ms, wattle run "
            f"{statistics.median(theirs) * 1e3:.1f} ms, ratio {ratio:.2f}")


def many_over_mcp(client, count):
    open_calls = [client.begin("pen_run_command", {"command": TRUE}) for _ in range(AT_ONCE)]
    for done in range(count):
        while not any(number in client.answers for number in open_calls):
            message = client.next()
            client.answers[message["id"]] = message
        number = next(number for number in open_calls if number in client.answers)
        open_calls.remove(number)
        job = client.job(number)
        assert job["state"] == "exited", job
        if done + AT_ONCE < count:
            open_calls.append(client.begin("pen_run_command", {"command": TRUE}))


def many_by_bwrap(count):
    """Clients are children too, and do not end meanwhile: whoever ends is one of these."""
    for done in range(count):
        if done >= AT_ONCE:
            reap()
        spawn(BWRAP)
    for _ in range(min(count, AT_ONCE)):
        reap()


def throughput(pen):
    count = 40
    ratios, ours, theirs = [], [], []
    with Client(pen) as client:
        for _ in range(max(3, ROUNDS // 20)):
            ours.append(count / time_of(lambda: many_over_mcp(client, count)))
            theirs.append(count / time_of(lambda: many_by_bwrap(count)))
            ratios.append(ours[-1] / theirs[-1])
    ratio = statistics.median(ratios)
    verdict("throughput", ratio, ratio >= GOALS["throughput"],
            f"over MCP {statistics.median(ours):.0f}/s, bwrap {statistics.median(theirs):.0f}/s, "
            f"ratio {ratio:.2f}")


def idle():
    time.sleep(2)  # it gives memory back a second after the last job
    pss = pss_of(host_pid())
    if pss is None:
        print("  the host cannot be looked into as this user")
        return
    verdict("idle", pss, pss <= GOALS["idle"], f"{pss} KiB PSS")


def floods(poller):
    job = poller.run(TRUE)["job_id"]
    clients = [Client(PEN) for _ in range(FLOODS // AT_ONCE)]
    for client in clients:
        for _ in range(AT_ONCE):
            state = client.run("yes", background=True, deadline_seconds=120)
            assert state["state"] == "running", state
    assert wattle("host", "status", "--json")["running"] == FLOODS
    times = []
    for _ in range(ROUNDS * 10):
        times.append(time_of(lambda: poller.status(job)) * 1e3)
        time.sleep(0.005)
    host = host_pid()
    jobs = [pss_of_job(pid) for pid in children(host)]
    times.sort()
    p99 = times[int(len(times) * 0.99)]
    verdict("status", p99, p99 < GOALS["status"],
            f"median {statistics.median(times):.1f} ms, p99 {p99:.1f} ms of {len(times)}")
    print(f"  memory meanwhile: the host {pss_of(host)} KiB PSS, each of {len(jobs)} jobs (wattle-job, twice) at most "
          f"{max(jobs)} KiB, all {sum(jobs)} KiB")
    for client in clients:
        client.close()


def main():
    grant(pens_add(PEN), TRUE, "yes")
    with Client(PEN) as client:
        print(f"\nfrom the call to the result of {TRUE}, {ROUNDS} rounds")
        run_to_result(client)
        if BWRAP:
            print(f"\n{AT_ONCE} at a time, whole runs of {TRUE}")
            throughput(PEN)
        print("\nthe host, idle")
        idle()
        print(f"\nstatus of a job that is over, while {FLOODS} jobs print all they can")
        floods(client)
    wattle("host", "stop")
    sys.exit(1 if failed else 0)


main()
