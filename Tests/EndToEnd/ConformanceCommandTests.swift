import Foundation
import TestSupport
import Testing

/// Runs `belfry conformance` on stages and plugins that keep the rules, and on plugins that each break one rule.
@Suite(.timeLimit(.minutes(5)))
struct ConformanceCommandTests {
    @Test(.enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)))
    func `the example plugin keeps every rule`() async throws {
        // The options after -- belong to the program.
        let result = try await Command.run([
            "conformance", "--directory", Python.folder, "--", Python.program, "quiet_types.py", "--json",
        ])
        #expect(result.status == 0, "\(result)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 13 && lines.dropLast().allSatisfy { $0.contains(#""result":"passed""#) }, "\(result)")
        #expect(lines.last?.hasSuffix(#""passed":12,"failed":0,"skipped":0}"#) == true, "\(result)")
    }

    @Test(
        .enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)),
        arguments: Tier.some(of: [
            ("mute", "opens"), ("version", "opens"), ("chatty", "answers"), ("early", "answers"),
            ("reordered", "answers"),
            ("miscounts", "answers"), ("unended", "answers"),
            ("text", "json"), ("chance", "repeats"), ("batches", "cuts"), ("invents", "causes"), ("drops", "unknown"),
            ("fragile", "odd"), ("counts", "restarts"), ("strict", "frames"), ("gapless", "gaps"), ("deaf", "ends"),
            ("interrupted", "ends"),
        ]))
    func `a broken rule of a plugin is reported`(_ fault: String, _ rule: String) async throws {
        let folder = try Folder()
        try folder.write(BrokenPlugin.program, to: "broken.py")
        let result = try await Command.run(["conformance", Python.program, folder.file("broken.py"), fault])
        #expect(result.status == 1, "\(result)")
        let broken = result.output.split(separator: "\n").filter { $0.contains(#""result":"failed""#) }
        #expect(broken.count == 1 && broken[0].hasPrefix(#"{"type":"rule","rule":"\#(rule)","#), "\(result)")
        #expect(broken.first?.contains(#""seen":""#) == true)
    }

    @Test func `the kept and skipped rules of a stage are listed, and the kept rules are counted`() async throws {
        let result = try await Program.run(
            "belfry", ["conformance", "coalesce", "--settings", "{window: 1s}"], onTerminal: true)
        #expect(result.status == 0, "\(result)")
        #expect(result.output.hasPrefix("kept     json       Each output is one JSON object"), "\(result)")
        #expect(result.output.contains("skipped  recalls    the stage is not a source"))
        #expect(result.output.hasSuffix("coalesce keeps 8 rules\n"), "\(result)")
    }

    @Test func `an unknown stage, an unknown setting, and settings for a program are refused`() async throws {
        let unknown = try await Command.run(["conformance", "coalesc"])
        #expect(unknown.status == 69 && unknown.errors.contains("coalesce"), "\(unknown)")
        let wrong = try await Command.run(["conformance", "coalesce", "--settings", "{windov: 1s}"])
        #expect(wrong.status == 64 && wrong.errors.contains("window"), "\(wrong)")
        let strange = try await Command.run(["conformance", "/bin/cat", "--settings", "{}"])
        #expect(strange.status == 64, "\(strange)")
    }

    @Test func `an invalid or missing file of events is reported`() async throws {
        let notes = try Notes()
        let events = try notes.write("{\"type\":\"match\"}\n\n{\"type\":\n", to: "events.ndjson")
        let result = try await Command.run(["conformance", "coalesce", "--events", events])
        #expect(result.status == 65 && result.errors.contains("events.ndjson:3: "), "\(result)")
        let missing = try await Command.run(["conformance", "coalesce", "--events", notes.folder + "/none"])
        #expect(missing.status == 66 && missing.errors.hasSuffix("/none: No such file or directory\n"), "\(missing)")
    }
}

/// A plugin that passes every event on, but has one fault. Its argument names the fault.
private enum BrokenPlugin {
    static let program = """
        import json, os, signal, sys, random, zmq

        fault = sys.argv[1]
        if fault == "mute":
            sys.exit(3)
        if fault == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if fault != "interrupted":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        link = zmq.Context.instance().socket(zmq.DEALER)
        link.setsockopt(zmq.LINGER, 200)
        link.connect(os.environ["BELFRY_LINK"])
        poller = zmq.Poller()
        poller.register(link, zmq.POLLIN)
        poller.register(sys.stdin.fileno(), zmq.POLLIN)
        link.send_json({"type": "open", "protocol": 2 if fault == "version" else 1, "name": "broken"})
        if fault == "early":
            link.send_json({"type": "outputs", "through": 0})
        seen, late = 0, None

        def count(event):
            global counted
            counted += 1
            return b'{"type":"count","number":%d}\\n' % counted

        def strange(event):
            return not isinstance(event.get("type"), str) or event["type"].startswith("conformance")

        counted = 0
        EXTRA = {
            "text": lambda event: b"passed on\\n",
            "chance": lambda event: b'{"type":"chance","number":%d}\\n' % random.randrange(1 << 60),
            "invents": lambda event: b'{"type":"invented","causes":[{"log":"changes","sequence":4711}]}\\n',
            "counts": count,
        }

        def answer(control, lines):
            through = control["first"] + control["count"] - 1
            text = b"".join(lines)
            outputs = {"type": "outputs", "through": through, "count": text.count(b"\\n") + (fault == "miscounts")}
            link.send_multipart([json.dumps(outputs).encode(), text[:-1] if fault == "unended" else text])

        while True:
            ready = dict(poller.poll())
            if sys.stdin.fileno() in ready and not os.read(sys.stdin.fileno(), 4096):
                if fault != "deaf":
                    sys.exit(0)
                poller.unregister(sys.stdin.fileno())
            if link not in ready:
                continue
            frames = link.recv_multipart()
            control = json.loads(frames[0])
            if control["type"] == "close" and fault != "deaf":
                sys.exit(0)
            if control["type"] not in ("batch", "welcome", "close", "error") and fault == "strict":
                sys.exit("unknown frame type " + control["type"])
            if control["type"] != "batch":
                continue
            if fault == "gapless" and seen and control["first"] != seen + 1:
                sys.exit("the batch begins with sequence %d instead of %d" % (control["first"], seen + 1))
            lines = frames[1].splitlines(keepends=True)
            events = [json.loads(line) for line in lines]
            seen = control["first"] + control["count"] - 1 if fault == "gapless" else seen + len(lines)
            if fault in EXTRA:
                lines = [line + EXTRA[fault](event) for line, event in zip(lines, events)]
            if fault == "batches":
                lines.append(b'{"type":"batch"}\\n')
            if fault == "drops":
                lines = [line for line, event in zip(lines, events) if not strange(event)]
            if fault == "fragile":
                [event["user"].upper() for event in events if event.get("type") == "match"]
            if fault == "reordered":
                if late:
                    answer(control, lines)
                    answer(*late)
                    late = None
                else:
                    late = (control, lines)
                continue
            answer(control, lines)
            if fault == "chatty":
                answer(control, [])
        """
}
