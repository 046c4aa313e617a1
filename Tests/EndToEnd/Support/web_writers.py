#!/usr/bin/env python3
"""Writes to gateways concurrently, kills processes meanwhile, and compares the gateways' answers with the changes log.

  web_writers.py --ports 7490[,7491] --log 'belfry log show DATA/logs/changes' [--up PID --kill api,ingest,both]

Every write except a delete carries an ID of its own in the field `w`. The version of a record is the sequence of its
newest change in the log. Its change tag is this number in base 36. A write is acknowledged (the answer to a save has
the new tag), refused, unsent, or unknown (no answer, a status 5xx or TRY_AGAIN_LATER). At the end the changes log is
read. The failures are:
  lost        an acknowledged save is not in the log at the sequence that its new tag gives, or an acknowledged delete
              is not the last event of its record
  twice       a write is in the log more than once, or a record is deleted twice in a row
  refused     a refused or unsent write is in the log
  torn        some operations of an atomic request are in the log, and some are not, or other events are between them
  forked      a write with a change tag follows a version of its record that is not the tag's version
  stale       a lookup gave an older version than one acknowledged before the lookup was sent
  final       a gateway's last answer to records/changes is an error or differs from the log
  log         the command that prints the changes log failed
  silent      a gateway does not answer with status 200 within --settle seconds
Prints one JSON object; exits 1 if there is a failure. Standard library only."""

import argparse, collections, http.client, json, os, random, signal, subprocess, sys, threading, time

parser = argparse.ArgumentParser()
parser.add_argument("--ports", default="7490", help="the ports of the gateways, with commas between them")
parser.add_argument("--log", required=True, help="the command that prints the changes log, one event a line")
parser.add_argument("--user", default="_writers")
parser.add_argument("--zone", default="Writers")
parser.add_argument("--container", default="iCloud.com.example.Notes")
parser.add_argument("--writers", type=int, default=32)
parser.add_argument("--records", type=int, default=20)
parser.add_argument("--seconds", type=float, default=20)
parser.add_argument("--up", type=int, help="the process of `belfry up`, whose children are killed")
parser.add_argument("--kill", default="", help="what is killed in turn: api, ingest, both")
parser.add_argument("--every", type=float, default=3)
parser.add_argument("--settle", type=float, default=60, help="how many seconds to wait for status 200 from a gateway")
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()
ports = [int(port) for port in options.ports.split(",")]
prefix = f"/database/1/{options.container}/development/private/"
zone = {"zoneName": options.zone}
run = f"{os.getpid()}-{int(time.time())}"

lock = threading.Lock()
acknowledged, refused, unknown = {}, {}, {}          # write ID: (name, tag) | (name, code) | name
based = {}                                           # write ID: the tag that it was sent with
batches = []                                         # for each atomic request of several writes: their IDs
newest = collections.defaultdict(int)                # name: the newest acknowledged version
failures = collections.defaultdict(list)
answers = collections.Counter()
stop = threading.Event()


class Client:
    def __init__(self, port):
        self.port, self.connection = port, None

    def __call__(self, endpoint, body=None, timeout=20):
        """Returns the answer's status and JSON. The status is None if no JSON came, 0 for a refused connection."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
                self.connection.connect()
            self.connection.request("POST", prefix + endpoint + "?ckWebAuthToken=" + options.user, json.dumps(body or {}))
            response = self.connection.getresponse()
            text = response.read()
            return response.status, json.loads(text)
        except ConnectionRefusedError:
            self.connection = None
            time.sleep(0.1)
            return 0, None
        except (OSError, http.client.HTTPException, ValueError):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return None, None


def version(tag):
    return int(tag, 36)


def operation(kind, name, write, tag=None):
    record = {"recordName": name, "recordType": "Item"}
    if not kind.lower().endswith("delete"):
        record["fields"] = {"w": {"value": write}}
    if tag is not None:
        record["recordChangeTag"] = tag
    return {"operationType": kind, "record": record}


def modify(client, items, atomic):
    """Sends the items, each (kind, name, write ID, tag), and records the result of each."""
    status, answer = client("records/modify", {
        "operations": [operation(*item) for item in items], "zoneID": zone, "atomic": atomic})
    with lock:
        answers["none" if status is None else str(status or "connection refused")] += 1
        if atomic and len(items) > 1:
            batches.append([item[2] for item in items])
        for index, (kind, name, write, tag) in enumerate(items):
            if tag is not None:
                based[write] = tag
            if status == 0:
                refused[write] = (name, "not sent")
                continue
            if status is None or status >= 500:
                unknown[write] = name
                continue
            result = answer["records"][index] if status == 200 else answer
            if result.get("serverErrorCode") == "TRY_AGAIN_LATER":
                answers["TRY_AGAIN_LATER"] += 1
                unknown[write] = name
            elif "serverErrorCode" in result:
                answers[result["serverErrorCode"]] += 1
                refused[write] = (name, result["serverErrorCode"])
            else:
                new = result.get("recordChangeTag")
                acknowledged[write] = (name, new)
                if new is not None:
                    newest[name] = max(newest[name], version(new))
    return answer["records"] if status == 200 else None


def look_up(client, names):
    with lock:
        before = {name: newest[name] for name in names}
    status, answer = client("records/lookup", {"records": [{"recordName": name} for name in names], "zoneID": zone})
    if status != 200:
        with lock:
            answers["lookup none" if status is None else f"lookup {status or 'connection refused'}"] += 1
        return {}
    found = {record["recordName"]: record.get("recordChangeTag") for record in answer["records"]}
    for name, tag in found.items():
        if not name.startswith("own") and (version(tag) if tag else 0) < before[name]:
            failures["stale"].append([name, tag, before[name]])
    return found


def writer(number):
    client = Client(ports[number % len(ports)])
    choice = random.Random(options.seed * 1000 + number)
    count = 0
    while not stop.is_set():
        count += 1
        write = f"{run}-{number}-{count}"
        what = choice.random()
        if client.connection is None:
            time.sleep(0.05)
        if what < 0.35:                              # a change of one shared record, with its tag
            name = f"r{choice.randrange(options.records)}"
            tag = look_up(client, [name]).get(name)
            modify(client, [("update" if tag else "create", name, write, tag)], False)
        elif what < 0.55:                            # two to five shared records, atomically
            names = [f"r{n}" for n in choice.sample(range(options.records), choice.randint(2, 5))]
            tags = look_up(client, names)
            modify(client, [("update" if tags.get(name) else "create", name, f"{write}-{i}", tags.get(name))
                            for i, name in enumerate(names)], True)
        elif what < 0.65:                            # two shared records, without tags
            names = [f"r{n}" for n in choice.sample(range(options.records), 2)]
            modify(client, [("forceUpdate", name, f"{write}-{i}", None) for i, name in enumerate(names)],
                   choice.random() < 0.5)
        else:                                        # a record that only this writer uses
            name = f"own-{write}"
            made = modify(client, [("create", name, write + "-c", None)], choice.random() < 0.5)
            tag = made and made[0].get("recordChangeTag")
            changed = tag and modify(client, [("replace", name, write + "-u", tag)], choice.random() < 0.5)
            tag = changed and changed[0].get("recordChangeTag")
            if tag and choice.random() < 0.5:
                modify(client, [("delete", name, write + "-d", tag)], choice.random() < 0.5)


def children(word):
    listing = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(options.up)], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in listing.splitlines() if word in line]


def killer(rounds):
    choice = random.Random(options.seed)
    kinds = options.kill.split(",")
    words = {"api": [" api "], "ingest": ["stage ingest"], "both": [" api ", "stage ingest"]}
    while not stop.wait(options.every * choice.uniform(0.6, 1.4)):
        kind = kinds[rounds["kills"] % len(kinds)]
        for word in words[kind]:
            for process in children(word):
                try:
                    os.kill(process, signal.SIGKILL)
                    rounds[kind] += 1
                except ProcessLookupError:
                    pass
        rounds["kills"] += 1


def await_gateways():
    for port in ports:
        end = time.time() + options.settle
        while Client(port)("zones/lookup", {"zones": [zone]})[0] != 200:
            if time.time() > end:
                print(json.dumps({"failures": {"silent": [port]}}))
                sys.exit(1)
            time.sleep(0.2)


await_gateways()
Client(ports[0])("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": zone}}]})
threads = [threading.Thread(target=writer, args=(n,)) for n in range(options.writers)]
rounds = collections.Counter()
if options.kill:
    threads.append(threading.Thread(target=killer, args=(rounds,)))
for thread in threads:
    thread.start()
time.sleep(options.seconds)
stop.set()
for thread in threads:
    thread.join()
await_gateways()

# The writers have stopped, but a write without an answer may not be in the log yet. It gets one more second. Then the
# final state of each gateway is read, and after that the log.
time.sleep(1)
finals = []
for port in ports:
    client = Client(port)
    state, token, more = {}, None, True
    while more:
        status, answer = client("records/changes", {"zoneID": zone, **({"syncToken": token} if token else {})})
        if status != 200:
            failures["final"].append([port, status, answer])
            break
        for record in answer["records"]:
            state[record["recordName"]] = None if record.get("deleted") else (
                record["recordChangeTag"], record["fields"].get("w", {}).get("value"))
        token, more = answer["syncToken"], answer["moreComing"]
    finals.append((port, {name: value for name, value in state.items() if value}))

history = collections.defaultdict(list)              # name: (version, write ID or None for a delete)
places = collections.defaultdict(list)               # write ID: versions
log = subprocess.Popen(options.log, shell=True, stdout=subprocess.PIPE)
for line in log.stdout:
    line = json.loads(line)
    event, sequence = line["event"], line["sequence"]
    if event.get("owner") != options.user or event.get("record", {}).get("zoneID", {}).get("zoneName") != options.zone:
        continue
    if event["type"] == "record.save":
        write = event["record"]["fields"].get("w", {}).get("value")
        places[write].append(sequence)
        history[event["record"]["recordName"]].append((sequence, write))
    elif event["type"] == "record.delete":
        history[event["record"]["recordName"]].append((sequence, None))
if log.wait() != 0:
    failures["log"].append(log.returncode)

for write, (name, tag) in acknowledged.items():
    if tag is None:                                  # a delete must be the last event of its record
        if not history[name] or history[name][-1][1] is not None:
            failures["lost"].append([write, name])
    elif places[write] != [version(tag)] and version(tag) not in places[write]:
        failures["lost"].append([write, name, tag, places[write]])
for write, at in places.items():
    if len(at) > 1:
        failures["twice"].append([write, at])
for write in refused:
    if places.get(write):
        failures["refused"].append([write, refused[write], places[write]])
for batch in batches:
    at = sorted(v for write in batch for v in places.get(write, [])[:1])
    if at and (len(at) != len(batch) or at[-1] - at[0] != len(batch) - 1):
        failures["torn"].append([batch, at])
for name, events in history.items():
    for (before, _), (now, write) in zip([(0, None)] + events, events):
        if write in based and version(based[write]) != before:
            failures["forked"].append([name, now, write, based[write], before])
    for (_, first), (now, second) in zip(events, events[1:]):
        if first is None and second is None:
            failures["twice"].append([name, "deleted", now])
expected = {}
for name, events in history.items():
    if events and events[-1][1] is not None:
        expected[name] = events[-1]
for port, state in finals:
    got = {name: (version(tag), write) for name, (tag, write) in state.items()}
    for name in set(got) | set(expected):
        if got.get(name) != expected.get(name):
            failures["final"].append([port, name, got.get(name), expected.get(name)])

print(json.dumps({
    "acknowledged": len(acknowledged), "refused": len(refused), "unknown": len(unknown),
    "unknown in the log": sum(1 for write in unknown if places.get(write)), "batches": len(batches),
    "answers": answers, "kills": rounds, "events": sum(len(events) for events in history.values()),
    "failures": {kind: {"count": len(list_), "first": list_[:5]} for kind, list_ in failures.items()}}, indent=1))
sys.exit(1 if failures else 0)
