import Foundation
import Testing

/// Commands on a machine that BELFRY_HOST names as one of a pipeline's hosts.
@Suite(.timeLimit(.minutes(5))) struct HostCommandTests {
    private let notes: Notes
    private var pipeline: String { notes.folder + "/hosts.yaml" }

    init() throws { notes = try Notes() }

    /// Records the logs of all stages in the data folder of host a, and moves the last three to host b.
    private func record() async throws {
        let (a, b) = (notes.folder + "/data", notes.folder + "/b")
        try FileManager.default.createDirectory(atPath: b + "/logs", withIntermediateDirectories: true)
        let commands = Notes.phone() + Notes.changes(1..<4)
        let run = try await Program.run("belfry", ["run", notes.pipeline, "--logs", a + "/logs"], input: commands)
        #expect(run.status == 0, "\(run)")
        for log in ["notifications", "pushes", "outcomes"] {
            try FileManager.default.moveItem(atPath: "\(a)/logs/\(log)", toPath: "\(b)/logs/\(log)")
        }
        var port = 7420
        func bind() -> String {
            port += 1
            return "bind: 'tcp://127.0.0.1:\(port)'"
        }
        try notes.write(
            """
            pipeline: notes
            data: data
            log: {home: jetstream, servers: ['nats://127.0.0.1:1']}
            hosts:
              a: {address: 127.0.0.1, stages: [ingest, match]}
              b: {address: 127.0.0.2, stages: [coalesce, payload, deliver, api], data: b}
            stages:
              ingest: {\(bind()), door: 'tcp://127.0.0.1:7420'}
              match: {from: ingest, \(bind())}
              coalesce: {from: match, window: 0s, \(bind())}
              payload: {from: coalesce, \(bind())}
              deliver: {from: payload, \(bind()), transports: {apns: {use: file, path: pushes.ndjson}}}
            api: {listen: '127.0.0.1:7427'}

            """, to: "hosts.yaml")
    }

    private func belfry(_ arguments: [String], on host: String) async throws -> Program.Result {
        let words = ["BELFRY_HOST=\(host)", try Program.folder() + "/belfry"] + arguments
        return try await Program.run("/usr/bin/env", words)
    }

    @Test func `doctor checks what its host has, and says where the other stages run`() async throws {
        try await record()
        let checks = ["logs", "store", "subscriptions", "apps"].flatMap { ["--only", $0] }
        let a = try await belfry(["doctor", pipeline] + checks, on: "a")
        #expect(a.status == 0 && a.errors == "", "\(a)")
        #expect(codes(a) == ["log.elsewhere", "log.whole", "subscription.indexed", "state.elsewhere"], "\(a)")
        #expect(a.output.contains("only other hosts run: coalesce (b), payload (b), deliver (b)"), "\(a)")
        #expect(a.output.contains("not checked on host a: it does not run deliver"), "\(a)")
        let b = try await belfry(["doctor", pipeline] + checks, on: "b")
        #expect(b.status == 0 && b.errors == "", "\(b)")
        #expect(codes(b) == ["log.elsewhere", "log.whole", "store.none", "state.elsewhere"], "\(b)")
        #expect(b.output.contains("not checked on host b: it does not run match"), "\(b)")
        try FileManager.default.removeItem(atPath: notes.folder + "/b/logs/pushes")
        let lost = try await belfry(["doctor", pipeline, "--only", "logs"], on: "b")
        #expect(lost.status == 1 && codes(lost).sorted() == ["log.elsewhere", "log.missing"], "\(lost)")
    }

    @Test func `commands read the logs of the host that BELFRY_HOST names, and reject an unknown one`() async throws {
        try await record()
        for (host, log, other) in [("a", "matches", "pushes"), ("b", "pushes", "matches")] {
            let list = try await belfry(["log", "ls", pipeline], on: host)
            #expect(list.status == 0 && list.output.contains(log) && !list.output.contains(other), "\(list)")
        }
        let reason = "hosts.yaml:5:3: hosts: there is no host c, which the environment variable BELFRY_HOST names"
        for arguments in [
            ["log", "ls", pipeline], ["log", "show", "changes", "-p", pipeline], ["log", "verify", pipeline],
            ["trace", "1", "-p", pipeline], ["state", pipeline, "subscriptions"], ["dead-letters", pipeline],
            ["tap", "match", "-p", pipeline], ["send", pipeline], ["validate", pipeline],
        ] {
            let result = try await belfry(arguments, on: "c")
            #expect(result.status == 78 && result.errors.contains(reason), "\(arguments): \(result)")
        }
        let option = try await belfry(["up", pipeline, "--host", "d", "--drain"], on: "c")
        #expect(option.status == 78 && option.errors.contains("there is no host d; its hosts: a, b"), "\(option)")
    }

    @Test func `only a host that may run the gateway needs keys for it`() async throws {
        try await record()
        let text = try notes.read("hosts.yaml")
        try notes.write(text.replacing("'127.0.0.1:7427'", with: "'0.0.0.0:7427', behindTLS: true"), to: "hosts.yaml")
        for (host, needsKeys) in [("a", false), ("b", true)] {
            let result = try await belfry(["validate", pipeline], on: host)
            #expect(result.status == 0 && result.errors.contains("there is no key file") == needsKeys, "\(result)")
        }
    }

    private func codes(_ result: Program.Result) -> [String] {
        result.output.matches(of: /"code":"([^"]*)"/).map { String($0.1) }
    }
}
