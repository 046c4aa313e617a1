import BuiltIns
import JSON
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing
import Time
import ZeroMQ

/// Several lanes do together what one row of stages does.
@Suite struct LanesTests {
    private static func file(lanes: Int) throws -> PipelineFile {
        try PipelineFile.parse(
            """
            pipeline: lanes
            data: /nowhere
            lanes: \(lanes)
            stages:
              ingest: {bind: "tcp://127.0.0.1:7400"}
              match: {from: ingest, bind: "tcp://127.0.0.1:7500"}
              coalesce: {from: match, window: 1s, maximumDelay: 3s}
              payload: {from: coalesce, log: texts}
              deliver: {from: payload, transports: {apns: {use: file, path: pushes.ndjson}}}
            """, file: "lanes.yaml", registry: .builtIns,
            check: StageCheck(registry: .builtIns).callAsFunction)
    }

    private static func mistakes(_ yaml: String) -> String {
        do {
            let check = StageCheck(registry: .builtIns).callAsFunction
            _ = try PipelineFile.parse(yaml, file: "lanes.yaml", registry: .builtIns, check: check)
            return ""
        } catch { return "\(error)" }
    }

    // MARK: Lanes

    /// The lanes of users never change, because the logs of their past are there.
    @Test(arguments: [("_alice", 2, 8, 129), ("_bob", 2, 10, 164), ("", 3, 12, 199), ("Zoë", 2, 9, 147)])
    func `a user's lane follows from the container, the environment and the user`(
        user: String, of4: Int, of16: Int, of256: Int
    ) {
        let found = [4, 16, 256].map {
            Lane.number(container: "iCloud.com.example.Notes", environment: "production", user: user, $0)
        }
        #expect(found == [of4, of16, of256])
    }

    @Test func `lanes have about as many users each`() {
        var users = [Int](repeating: 0, count: 16)
        for user in 0..<16_000 {
            users[Lane.number(container: "iCloud.a", environment: "development", user: "_u\(user)", 16)] += 1
        }
        #expect(users.allSatisfy { 800...1_200 ~= $0 }, "\(users)")
    }

    @Test(arguments: [
        (#"{"type":"record.save","container":"c","environment":"e","database":"public","owner":"u"}"#, true),
        (#"{"type":"record.delete","database":"public"}"#, true),
        (#"{"type":"subscription.save","container":"c","environment":"e","database":"public","user":"u"}"#, false),
        (#"{"type":"record.save","container":"c","environment":"e","database":"private","owner":"u"}"#, false),
        (#"{"user":"\u0075","type":"device.register","environment":"\u0065","container":"c"}"#, false),
        (#"{"type":"zone.save","container":"c","environment":"e","database":"shared","owner":"u"}"#, false),
    ]) func `public changes go to every lane, and other events to their user's`(event: String, isForAll: Bool) throws {
        var parser = JSONParser()
        var text = event
        let lane = try text.withUTF8 { Lane.number(of: try parser.parse(UnsafeRawBufferPointer($0)), 256) }
        #expect(lane == (isForAll ? nil : Lane.number(container: "c", environment: "e", user: "u", 256)))
    }

    @Test func `an event without a user goes to lane 0`() throws {
        var parser = JSONParser()
        var text = #"{"type":"custom","container":"c"}"#
        #expect(try text.withUTF8 { Lane.number(of: try parser.parse(UnsafeRawBufferPointer($0)), 256) } == 0)
    }

    @Test func `the lane of a line is that of its event`() throws {
        var random = Seeded(Seeded.ofThisRun)
        let chain = try Self.chain(lanes: 1, Workload(seed: random.next(), length: 300))
        let odd = [
            #"{"type":"record.save","environment":"e","container":"c","database":"private","owner":"u"}"#,
            #"{ "type":"record.save","container":"c","environment":"e","database":"private","owner":"u"}"#,
            #"{"type":"record.save","container":"c","environment":"e","database":"private","owner":"\u0075"}"#,
            #"{"type":"record.save","container":"c","environment":"e","database":"private","user":"u"}"#,
            #"{"type":"badge.set","container":"c","environment":"e","owner":"v","user":"u"}"#,
            #"{"type":"custom","container":"c","environment":"e","user":{"name":"u"}}"#, #"{"type":"record.save"}"#,
            "{}",
        ]
        let lines = chain.events(of: "changes").map(\.text) + odd
        var parser = JSONParser()
        let reader = LaneReader(256)
        for line in lines {
            var text = line
            try text.withUTF8 { bytes in
                let bytes = UnsafeRawBufferPointer(bytes)
                let expected = Lane.number(of: try parser.parse(bytes), 256)
                #expect(reader.number(ofLine: bytes) == expected, "\(line)")
            }
        }
        var (noJSON, empty) = ("{\"type\":", "")
        #expect(noJSON.withUTF8 { reader.number(ofLine: UnsafeRawBufferPointer($0)) } == 0)
        #expect(empty.withUTF8 { reader.number(ofLine: UnsafeRawBufferPointer($0)) } == 0)
    }

    // MARK: The pipeline file

    @Test func `each lane has its own stages, logs and addresses`() throws {
        let file = try Self.file(lanes: 12)
        #expect(file.stages.count == 1 + 4 * 12)
        let stages = try ["ingest", "match.11", "coalesce.11", "payload.11"].map { try #require(file.stage(named: $0)) }
        #expect(stages.map(\.logName) == ["changes", "matches.11", "notifications.11", "texts.11"])
        #expect(stages.map(\.from) == [nil, "ingest", "match.11", "coalesce.11"])
        #expect(stages[1].bind == "tcp://127.0.0.1:7511" && stages[2].bind == "ipc:///nowhere/coalesce.11.link")
        #expect(try Self.file(lanes: 1).stages.map(\.name) == ["ingest", "match", "coalesce", "payload", "deliver"])
        #expect(try Self.file(lanes: 101).stages.contains { $0.name == "match.007" })
        let transport = try #require(file.stage(named: "deliver.03")?.lane).path("/a.b/pushes.ndjson")
        #expect(transport == "/a.b/pushes.03.ndjson" && Lane(3, of: 4).path("/a.b/pushes") == "/a.b/pushes.03")
    }

    @Test(arguments: [
        ("lanes: 0", "lanes: must be between 1 and 256, is 0"),
        ("lanes: 257", "lanes: must be between 1 and 256, is 257"),
        ("lanes: four", "lanes: expected a whole number, found four"),
        ("lanes: 4\nhosts: {a: {address: 127.0.0.1, lanes: 0-4}}", "no lane 4: the pipeline has the lanes 0-3"),
        ("hosts: {a: {address: 127.0.0.1, lanes: 0}}", "no lane 0: the pipeline has no lanes"),
        ("lanes: 4\nhosts: {a: {address: 127.0.0.1, lanes: 3-1}}", "'3-1' names no lanes"),
        ("lanes: 4\nhosts: {a: {address: 127.0.0.1, lanes: 0-2}}", "no host runs stage match.03"),
    ]) func `lanes that cannot be are mistakes of the pipeline file`(settings: String, mistake: String) {
        let text = Self.mistakes(
            """
            pipeline: lanes
            \(settings)
            log: {home: jetstream, servers: ["nats://127.0.0.1:4222"]}
            stages:
              ingest: {bind: "tcp://127.0.0.1:7400", door: "tcp://127.0.0.1:7401"}
              match: {from: ingest, bind: "tcp://127.0.0.1:7500"}
            """)
        #expect(text.contains(mistake), "\(text)")
    }

    @Test func `a host runs the stages of its lanes, and every stage without lanes`() throws {
        let file = try PipelineFile.parse(
            """
            pipeline: lanes
            lanes: 4
            log: {home: jetstream, servers: ["nats://127.0.0.1:4222"]}
            hosts: {a: {address: 127.0.0.1, lanes: 0-2}, b: {address: 127.0.0.2, lanes: 2-3, stages: [match]}}
            stages:
              ingest: {bind: "tcp://127.0.0.1:7400", door: "tcp://127.0.0.1:7401"}
              match: {from: ingest, bind: "tcp://127.0.0.1:7500"}
            """, file: "lanes.yaml", registry: .builtIns)
        #expect(try file.on("a").stagesOfHost.map(\.name) == ["ingest", "match.00", "match.01", "match.02"])
        #expect(try file.on("b").stagesOfHost.map(\.name) == ["match.02", "match.03"])
        let hosts = file.stages.map { file.hosts(running: [$0]) }
        #expect(hosts == [["a"], ["a"], ["a"], ["a", "b"], ["b"]])
    }

    @Test(arguments: [
        ("{ingest: {}, match: {from: ingest, lane: 1/4}}", "lane: is set by Belfry for each lane"),
        ("{ingest: {}, screen: {from: ingest, command: [sh]}}", "lanes: needs a stage that matches subscriptions"),
        ("{ingest: {}, match: {from: ingest, bind: 'tcp://127.0.0.1:65533'}}", "lane 3 would have port 65536"),
        (
            "{ingest: {bind: 'tcp://127.0.0.1:7002'}, match: {from: ingest, bind: 'tcp://127.0.0.1:7000'}}",
            "tcp://127.0.0.1:7002 already belongs to ingest"
        ),
        (
            "{ingest: {}, match: {from: ingest}, coalesce: {from: match, window: 0s}, payload: {from: coalesce}, "
                + "deliver: {from: payload, transports: {web: {use: courier, listen: '127.0.0.1:7003'}}}}",
            "a transport of kind courier cannot run in several lanes"
        ),
    ]) func `stages that cannot be in lanes are mistakes of the pipeline file`(stages: String, mistake: String) {
        let found = Self.mistakes("pipeline: lanes\nlanes: 4\nstages: \(stages)")
        #expect(found.contains(mistake), "\(found)")
    }

    // MARK: What lanes do

    @Test(arguments: Seeded.seeds)
    func `each user's events have the same order as with one lane`(seed: UInt64) throws {
        var random = Seeded(seed)
        for _ in 0..<6 {
            let workload = Workload(seed: random.next(), length: 300)
            let one = try Self.chain(lanes: 1, workload)
            let count = [2, 3, 16, 256][random.below(4)]
            let lanes = try Self.chain(lanes: count, workload)
            for log in ["matches", "notifications", "texts", "outcomes"] {
                let expected = try Self.byUser(one.events(of: log))
                var found: [String: [String]] = [:]
                for lane in 0..<count {
                    let events = try Self.byUser(lanes.events(of: log + Lane(lane, of: count).suffix))
                    found.merge(events) { $0 + $1 }
                }
                #expect(found == expected, "\(log) in \(count) lanes")
            }
        }
    }

    private static func chain(lanes: Int, _ workload: Workload) throws -> Chain {
        let chain = try Chain(file(lanes: lanes), registry: .builtIns)
        for command in workload.commands { do { try chain.send(command) } catch is Chain.Refusal {} }
        try chain.finish()
        return chain
    }

    /// The events of each user, without what depends on the log's name and the events' places in it.
    private static func byUser(_ events: [Chain.Event]) throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        var parser = JSONParser()
        for event in events {
            var text = event.text
            let (user, shape) = try text.withUTF8 { bytes -> (String?, String) in
                let json = try parser.parse(UnsafeRawBufferPointer(bytes))
                let shape = ["type", "subscriptionID", "device", "outcome", "change", "record"].map { key in
                    json.member(key).map { String(decoding: $0.raw, as: UTF8.self) } ?? ""
                }
                return (json.member("user")?.string, shape.joined(separator: " "))
            }
            if let user { found[user, default: []].append("\(event.now) \(shape)") }
        }
        return found
    }

    @Test func `logs keep their number of lanes`() async throws {
        let folder = try Folder()
        try await run(lanes: 2, in: folder)
        for (lanes, advice) in [(4, "write 'lanes: 2'"), (1, "write 'lanes: 2'")] {
            let error = await #expect(throws: SettingsError.self) { try await run(lanes: lanes, in: folder) }
            #expect(error.map { "\($0)".contains(advice) } == true, "\(error as Any)")
        }
        try await run(lanes: 2, in: folder)
        let other = try Folder()
        try await run(lanes: 1, in: other)
        let error = await #expect(throws: SettingsError.self) { try await run(lanes: 2, in: other) }
        #expect(error.map { "\($0)".contains("written with no lanes") } == true, "\(error as Any)")
    }

    /// Starts the pipeline, and stops it when each stage runs.
    private func run(lanes: Int, in folder: Folder) async throws {
        let yaml = """
            pipeline: lanes
            data: data
            lanes: \(lanes)
            stages: {ingest: {}, match: {from: ingest}, coalesce: {from: match, window: 0s}}
            """
        let file = try PipelineFile.parse(yaml, file: "lanes.yaml", folder: folder.path, registry: .builtIns)
        let context = try HostContext()
        let pipeline = try PipelineProcess(file, in: HostSurroundings(registry: .builtIns, context: context))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pipeline.run() }
            group.addTask {
                for host in pipeline.hosts {
                    while host.control.report.phase != .running { try await Task.sleep(for: .milliseconds(5)) }
                }
                pipeline.stop()
            }
            defer { group.cancelAll() }
            while try await group.next() != nil {}
        }
    }
}
