import Testing

@testable import PipelineKit

/// A pipeline file that must be refused, and the error for each of its mistakes.
struct BadFile: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let messages: [String]

    init(_ name: String, _ text: String, _ messages: String...) {
        self.name = name
        self.text = text
        self.messages = messages
    }

    var testDescription: String { name }
}

@Suite struct BadPipelineFileTests {
    @Test(arguments: structure + names + links + quantities + homes + hosts)
    func `a bad file is refused with exactly the expected errors`(_ file: BadFile) {
        let error = #expect(throws: PipelineFileError.self) {
            try PipelineFile.parse(file.text, file: "p.yaml", registry: Registry())
        }
        #expect(error?.errors.map(\.description) == file.messages)
    }

    static let structure = [
        BadFile("empty", "", #"p.yaml: the file has no settings; write at least "pipeline" and "stages""#),
        BadFile(
            "only comments", "# hello\n",
            #"p.yaml: the file has no settings; write at least "pipeline" and "stages""#),
        BadFile("a list", "- a\n", "p.yaml:1:1: expected a mapping, found a list"),
        BadFile("a word", "hello\n", "p.yaml:1:1: expected a mapping, found hello"),
        BadFile("NUL", "pipeline: a\u{0}b\n", "p.yaml:1:12: U+0000 is not allowed in the file"),
        BadFile("private use", "pipeline: \u{E000}\n", "p.yaml:1:11: U+E000 is not allowed in the file"),
        BadFile("too large", String(repeating: "#", count: 1 << 20) + "\n", "p.yaml: the file is larger than 1 MiB"),
        BadFile(
            "a tab", "pipeline: a\nstages:\n\tingest: {}\n",
            "p.yaml:3:1: found character that cannot start any token while scanning for the next token; "
                + "YAML is indented with spaces, this is a tab"),
        BadFile(
            "an unclosed list", "pipeline: [a\n",
            "p.yaml:2:1: did not find expected ',' or ']' while parsing a flow sequence"),
        BadFile(
            "two documents", "pipeline: a\n---\npipeline: b\n",
            "p.yaml:2:1: a second YAML document begins; write each pipeline in a file of its own"),
        BadFile(
            "deep nesting", String(repeating: "[", count: 5000),
            "p.yaml:1:1: nested too deeply"),
        BadFile(
            "an alias without an anchor", "pipeline: *name\nstages: {a: {}}\n",
            "p.yaml:1:11: pipeline: *name refers to no anchor above it; put text that begins with * in quotes"),
        BadFile(
            "a tag", "pipeline: !secret a\nstages: {a: {}}\n",
            "p.yaml:1:11: pipeline: the tag !secret is not supported; leave it out"),
        BadFile(
            "a list as a key", "pipeline: a\n[1]: 2\nstages: {a: {}}\n",
            "p.yaml:2:1: expected a key, found a list"),
        BadFile("a merge key", "pipeline: a\n<<: {}\nstages: {a: {}}\n", "p.yaml:2:1: <<: unknown key; known: \(top)"),
        BadFile(
            "no required key", "data: x\n", "p.yaml:1:1: pipeline: required", "p.yaml:1:1: stages: required"),
        BadFile("no stages", "pipeline: a\nstages:\n", "p.yaml:2:8: stages: is empty"),
        BadFile(
            "a stage that is a word", "pipeline: a\nstages:\n  ingest: tcp\n",
            "p.yaml:3:11: stages.ingest: expected a mapping, found tcp"),
    ]

    static let top = "pipeline, data, seed, log, stages, api, lanes, hosts"
    static let log =
        "sync, segmentBytes, snapshotBytes, retention, home, servers, replicas, takeOver, user, password, nkey, credentials, tls"

    static let names = [
        BadFile(
            "three mistakes", "pipelin: a\nlog: {sinc: always}\nstages: {a: {from: b}}\n",
            #"p.yaml:1:1: pipelin: unknown key; did you mean "pipeline"? known: \#(top)"#,
            #"p.yaml:2:7: log.sinc: unknown key; did you mean "sync"? known: \#(log)"#,
            #"p.yaml:3:20: stages.a.from: there is no stage b"#),
        BadFile(
            "a mistake in a stage that another stage reads",
            "pipeline: a\nstages: {a: {}, b: {from: a, bind: 7}, c: {from: b}}\n",
            "p.yaml:2:36: stages.b.bind: 7 is not an address; write tcp://HOST:PORT, ipc://PATH or inproc://NAME"),
        BadFile(
            "bad names", "pipeline: My Pipe\nstages: {Ingest: {}}\n",
            #"p.yaml:1:11: pipeline: "My Pipe" is not a valid name; names have up to 64 letters a-z, digits "#
                + "and hyphens, and do not begin with a hyphen",
            #"p.yaml:2:10: stages.Ingest: "Ingest" is not a valid name; names have up to 64 letters a-z, digits "#
                + "and hyphens, and do not begin with a hyphen"),
        BadFile(
            "written twice",
            "pipeline: a\nstages:\n  a:\n    bind: inproc://a\n    \"bind\": inproc://b\n  a: {}\npipeline: b\n",
            "p.yaml:5:5: stages.a.bind: written twice; first at 4:5",
            "p.yaml:6:3: stages.a: written twice; first at 3:3",
            "p.yaml:7:1: pipeline: written twice; first at 1:1"),
        BadFile(
            "three times in one line", "pipeline: a\nstages: {é: {}, é: {}, é: {}, b: {from: é}}\n",
            "p.yaml:2:10: stages.é: \"é\" is not a valid name; names have up to 64 letters a-z, digits "
                + "and hyphens, and do not begin with a hyphen",
            "p.yaml:2:17: stages.é: written twice; first at 2:10",
            "p.yaml:2:24: stages.é: written twice; first at 2:10"),
        BadFile(
            "twice behind an anchor", "pipeline: a\n&x pipeline: b\n&y pipeline: c\n",
            "p.yaml:1:1: stages: required",
            "p.yaml:2:1: pipeline: written twice; first at 1:1",
            "p.yaml:3:1: pipeline: written twice; first at 1:1"),
        BadFile(
            "a misspelt upstream", "pipeline: a\nstages:\n  ingest: {}\n  match: {from: injest}\n",
            #"p.yaml:4:17: stages.match.from: there is no stage injest; did you mean "ingest"?"#),
        BadFile(
            "two sources", "pipeline: a\nstages:\n  ingest: {}\n  match: {}\n",
            "p.yaml:4:3: stages.match.from: required: only the source has no `from`, and ingest is already the source"
        ),
        BadFile(
            "a program as the source", "pipeline: a\nstages:\n  shout: {command: [cat]}\n  match: {from: shout}\n",
            "p.yaml:3:3: stages.shout.from: required: a program reads the log of a stage, so it cannot be the source"),
        BadFile(
            "a cycle",
            "pipeline: a\nstages:\n  s: {}\n  a: {from: c}\n  b: {from: a}\n  c: {from: b}\n  d: {from: c}\n",
            "p.yaml:4:13: stages.a.from: reads its own output: a from c from b from a"),
        BadFile(
            "a stage that reads itself", "pipeline: a\nstages:\n  a: {from: a}\n",
            "p.yaml:3:13: stages.a.from: reads its own output: a from a"),
        BadFile(
            "two stages with the same log",
            "pipeline: a\nstages:\n  deliver: {}\n  more: {from: deliver, log: deliver}\n",
            #"p.yaml:4:30: stages.more.log: deliver already belongs to deliver; "#
                + #"give one of them another name with "log""#),
    ]

    private static let keyless =
        "; give the stage `curve:` keys; or say `open: true`, if the network lets only trusted programs in"

    private static let key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

    static let links = [
        BadFile(
            "no scheme", stage("bind: localhost:80"),
            "p.yaml:3:13: stages.s.bind: localhost:80 is not an address; write tcp://HOST:PORT, ipc://PATH or inproc://NAME"
        ),
        BadFile(
            "another scheme", stage("bind: http://a:80"),
            "p.yaml:3:13: stages.s.bind: http://a:80 is not an address; write tcp://HOST:PORT, ipc://PATH or inproc://NAME"
        ),
        BadFile(
            "no port", stage("bind: 'tcp://localhost'"),
            "p.yaml:3:13: stages.s.bind: tcp://localhost has no valid port; end it with a port from 1 to 65535"),
        BadFile(
            "a large port", stage("bind: 'tcp://localhost:65536'"),
            "p.yaml:3:13: stages.s.bind: tcp://localhost:65536 has no valid port; end it with a port from 1 to 65535"),
        BadFile(
            "any host", stage("bind: 'tcp://*:80'"),
            "p.yaml:3:13: stages.s.bind: tcp://*:80 is not an address to which clients can connect; "
                + "write tcp://0.0.0.0:80 for all of the machine's addresses"),
        BadFile(
            "localhost", stage("bind: 'tcp://localhost:80'"),
            "p.yaml:3:13: stages.s.bind: cannot listen at localhost: ZeroMQ needs an address or a network interface; "
                + "write tcp://127.0.0.1:80"),
        BadFile(
            "two addresses in one", stage("bind: 'tcp://127.0.0.1:1;0.0.0.0:80'"),
            "p.yaml:3:13: stages.s.bind: tcp://127.0.0.1:1;0.0.0.0:80 is not an address; "
                + "write tcp://HOST:PORT, ipc://PATH or inproc://NAME"),
        BadFile(
            "a name that begins like an address", stage("bind: 'tcp://127.0.0.1.example.com:80'"),
            "p.yaml:3:13: stages.s.bind: other machines can reach tcp://127.0.0.1.example.com:80 without a key "
                + "and read every record, user and token" + keyless),
        BadFile(
            "a link without keys that other machines can reach", stage("bind: 'tcp://0.0.0.0:80'"),
            "p.yaml:3:13: stages.s.bind: other machines can reach tcp://0.0.0.0:80 without a key "
                + "and read every record, user and token" + keyless),
        BadFile(
            "a door without keys that other machines can reach", stage("door: 'tcp://[2001:db8::1]:81'"),
            "p.yaml:3:13: stages.s.door: other machines can reach tcp://[2001:db8::1]:81 without a key and send changes"
                + keyless),
        BadFile(
            "a long ipc path", stage("bind: ipc:///\(String(repeating: "x", count: 107))"),
            "p.yaml:3:13: stages.s.bind: the socket's path /\(String(repeating: "x", count: 107)) has 108 bytes, "
                + "but the system allows only 107; choose a shorter path or data folder, or write tcp://HOST:PORT"),
        BadFile(
            "a long default ipc path",
            "pipeline: a\ndata: /\(String(repeating: "x", count: 100))\nstages: {s: {}}\n",
            "p.yaml:3:10: stages.s.bind: the socket's path /\(String(repeating: "x", count: 100))/s.link has 108 bytes, "
                + "but the system allows only 107; choose a shorter path or data folder, or write tcp://HOST:PORT"),
        BadFile(
            "two stages with the same address",
            "pipeline: a\nstages:\n  s: {bind: inproc://x}\n  t: {from: s, bind: inproc://x}\n",
            "p.yaml:4:22: stages.t.bind: inproc://x already belongs to s"),
        BadFile(
            "a command in one text", stage("command: python3 a.py"),
            "p.yaml:3:16: stages.s.command: expected a list, found python3 a.py; write it as [one, two]"),
        BadFile("an empty command", stage("command: []"), "p.yaml:3:16: stages.s.command: is empty"),
        BadFile(
            "a directory without a command", stage("directory: x"),
            "p.yaml:3:18: stages.s.directory: is set, but the stage has no `command`"),
        BadFile(
            "wrong values under curve", stage("curve: {publicKey: short, secretKey: inline, reader: {}}"),
            "p.yaml:3:26: stages.s.curve.publicKey: expected a Z85 key of 40 characters, found 5 characters; "
                + "keys with punctuation need quotes",
            "p.yaml:3:44: stages.s.curve.secretKey: expected the source of a secret, found a string; "
                + "write {$file: PATH}, {$env: NAME} or {$credential: NAME}",
            "p.yaml:3:52: stages.s.curve.reader: unknown key; did you mean \"readers\"? "
                + "known: publicKey, secretKey, upstreamKey, producers, readers"),
        BadFile(
            "a client's key that is too short",
            stage("curve: {publicKey: '\(key)', secretKey: {$env: K}, readers: {screen: short}}"),
            "p.yaml:3:110: stages.s.curve.readers.screen: expected a Z85 key of 40 characters, found 5 characters; "
                + "keys with punctuation need quotes"),
        BadFile(
            "a key that Z85 never produces",
            stage("curve: {publicKey: '\(String(repeating: "#", count: 40))', secretKey: {$env: K}}"),
            "p.yaml:3:26: stages.s.curve.publicKey: expected a Z85 key of 40 characters, found five characters that "
                + "Z85 never produces; keys with punctuation need quotes"),
        BadFile(
            "three keys", stage("curve: {publicKey: ['\(key)', '\(key)', '\(key)'], secretKey: {$env: K}}"),
            "p.yaml:3:26: stages.s.curve.publicKey: has 3 keys; write one key, or two while the old key is replaced"),
        BadFile(
            "a stage without a key that reads from one with keys",
            "pipeline: a\nstages:\n  s: {curve: {publicKey: '\(key)', secretKey: {$env: K}}}\n  m: {from: s}\n"
                + "  n: {from: m}\n",
            "p.yaml:4:3: stages.m.curve: required: s has keys, so a stage without a key cannot read from it; make a key "
                + "with `belfry curve make m.key`, and write `curve: {publicKey: KEY, secretKey: {$file: m.key}}`"),
        BadFile(
            "two clients with the same key",
            stage("curve: {publicKey: '\(key)', secretKey: {$env: K}, readers: {a: '\(key)', b: '\(key)'}}"),
            "p.yaml:3:152: stages.s.curve.readers.b: has the same key as a; make a key for each client: belfry curve make"
        ),
    ]

    static let quantities = [
        BadFile(
            "an unknown sync policy", log("sync: sometimes"),
            "p.yaml:2:13: log.sync: expected always, interval DURATION or never, found sometimes"),
        BadFile(
            "sync without a unit", log("sync: interval 50"), "p.yaml:2:13: log.sync: 50 has no unit; write 50ms or 50s"),
        BadFile(
            "sync out of range", log("sync: interval 2m"), "p.yaml:2:13: log.sync: must be between 1ms and 1m, is 2m"),
        BadFile(
            "a small segment", log("segmentBytes: 1 kB"),
            "p.yaml:2:21: log.segmentBytes: must be between 64 KiB and 4 GiB, is 1 kB"),
        BadFile(
            "a size with a fraction", log("segmentBytes: 1.5 MiB"),
            "p.yaml:2:21: log.segmentBytes: expected a size, found 1.5 MiB; write one like 4096, 64 KiB, 1 MB"),
        BadFile(
            "an endless segment", log("segmentBytes: 99999999999999999999 GiB"),
            "p.yaml:2:21: log.segmentBytes: 99999999999999999999 GiB is too large for a size"),
        BadFile(
            "snapshots all the time", log("snapshotBytes: 1"),
            "p.yaml:2:22: log.snapshotBytes: must be between 4 KiB and 1 TiB, is 1"),
        BadFile(
            "wrong values under retention", log("retention: {age: 30, size: 1GiB, deadLetters: 0s}"),
            "p.yaml:2:24: log.retention.age: 30 has no unit; write 30s or 30d",
            "p.yaml:2:28: log.retention.size: unknown key; known: age, bytes, deadLetters",
            "p.yaml:2:53: log.retention.deadLetters: must be between 1s and 36500d, is 0s"),
    ]

    static let homes = [
        BadFile(
            "servers without a home", log("servers: [nats://n1]"),
            "p.yaml:2:16: log.servers: needs 'home: jetstream'; write that line below 'log:' too"),
        BadFile(
            "a home without servers", log("home: jetstream"),
            "p.yaml:2:1: log.servers: required; write servers: [nats://n1:4222, nats://n2:4222, nats://n3:4222]"),
        BadFile(
            "an unknown home", log("home: nats"), "p.yaml:2:13: log.home: expected one of files, jetstream, found nats"),
        BadFile(
            "an even number of replicas", home("replicas: 2"),
            "p.yaml:2:58: log.replicas: must be 1, 3 or 5, but this is 2"),
        BadFile("a user without a password", home("user: a"), "p.yaml:2:1: log.password: required beside 'user'"),
        BadFile(
            "a password without a user", home("password: {$env: A}"),
            "p.yaml:2:1: log.user: required beside 'password'"),
        BadFile(
            "a password in clear", home("user: a, password: hush"),
            "p.yaml:2:67: log.password: expected the source of a secret, found a string; write {$file: PATH}, "
                + "{$env: NAME} or {$credential: NAME}"),
        BadFile(
            "two ways to log in", home("nkey: {$env: A}, credentials: {$file: b}"),
            "p.yaml:2:78: log.credentials: cannot be used together with 'nkey'; choose one of them"),
        BadFile(
            "a key without a certificate", home("tls: {key: k.pem}"),
            "p.yaml:2:48: log.tls.certificate: required beside 'key'"),
    ]

    static let hosts = [
        BadFile(
            "hosts without a home", "pipeline: a\nhosts: {a: {address: 10.0.0.1}}\nstages: {s: {}}\n",
            "p.yaml:2:8: hosts: needs logs that survive a machine; write 'home: jetstream' and 'servers' below 'log:'"),
        BadFile("a host without an address", host("a: {}"), "p.yaml:3:9: hosts.a.address: required"),
        BadFile(
            "a name as an address", host("a: {address: n1}"),
            "p.yaml:3:22: hosts.a.address: 'n1' is not the IP address of a machine; write one such as 10.0.0.1"),
        BadFile(
            "two hosts with one address", host("a: {address: 127.0.0.1}, b: {address: 127.0.0.1}"),
            "p.yaml:3:47: hosts.b.address: 127.0.0.1 already belongs to a"),
        BadFile(
            "a stage that there is not", host("a: {address: 127.0.0.1, stages: [s, t]}"),
            "p.yaml:3:41: hosts.a.stages: there is no stage t; did you mean \"s\"?"),
        BadFile(
            "a stage that no host runs",
            host("a: {address: 127.0.0.1, stages: [s]}", "\n  t: {from: s, bind: 'tcp://127.0.0.1:7'}"),
            "p.yaml:3:8: hosts: no host runs stage t"),
        BadFile(
            "a stage that other hosts cannot reach", host("a: {address: 127.0.0.1}", "\n  t: {from: s}"),
            "p.yaml:6:3: stages.t.bind: required: a TCP address with the port at which each host serves the stage; "
                + "write 'bind: tcp://0.0.0.0:PORT'"),
        BadFile(
            "a stage that everybody can read", host("a: {address: 10.0.0.1}"),
            "p.yaml:5:13: stages.s.bind: other machines can reach tcp://10.0.0.1:5 of host a without a key; give the stage "
                + "`curve:` keys; or say `open: true`, if the network lets only trusted programs in",
            "p.yaml:5:40: stages.s.door: other machines can reach tcp://10.0.0.1:6 of host a without a key; give the stage "
                + "`curve:` keys; or say `open: true`, if the network lets only trusted programs in"),
        BadFile(
            "a silence that is too short", home("takeOver: 100ms"),
            "p.yaml:2:58: log.takeOver: must be between 1s and 5m, is 100ms"),
    ]

    static func host(_ hosts: String, _ stages: String = "") -> String {
        "pipeline: a\nlog: {home: jetstream, servers: [\"nats://n1\"]}\nhosts: {\(hosts)}\nstages:\n"
            + "  s: {bind: 'tcp://127.0.0.1:5', door: 'tcp://127.0.0.1:6'}\(stages)\n"
    }

    static func stage(_ setting: String) -> String { "pipeline: a\nstages:\n  s: {\(setting)}\n" }
    static func home(_ settings: String) -> String {
        log("home: jetstream, servers: [\"nats://n1\"], \(settings)")
    }
    static func log(_ setting: String) -> String { "pipeline: a\nlog: {\(setting)}\nstages: {s: {}}\n" }
}
