import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct UpCommandTests {
    private func pid(in line: String?) throws -> Int32 {
        let line = try #require(line)
        let match = try #require(line.firstMatch(of: /process (\d+)/), "\(line)")
        return try #require(Int32(match.1))
    }

    @Test func `five processes start, push and stop cleanly`() async throws {
        let notes = try Notes()
        let up = try Program("belfry", ["up", notes.pipeline])
        await up.waitForMessage("deliver: ready")
        let sent = try await Program.run(
            "belfry", ["send", notes.pipeline], input: Notes.phone(transport: "screen") + Notes.change("n1"))
        #expect(sent.status == 0)
        #expect(sent.errors == "3 lines sent\n")
        #expect(await up.waitForOutputLine("_alice on alice-phone") != nil)
        up.signal(SIGTERM)
        let result = await up.result()
        #expect(result.status == 0)
        let errors = result.errors.split(separator: "\n")
        #expect(errors.count == 7)
        #expect(errors[5] == "ready")
        #expect(errors[6] == "stopping")
        for stage in ["ingest", "match", "coalesce", "payload", "deliver"] {
            #expect(errors.contains { $0.hasPrefix("\(stage): ready, process ") })
        }
    }

    @Test func `a killed stage is started again and continues`() async throws {
        let notes = try Notes()
        let up = try Program("belfry", ["up", notes.pipeline])
        let line = await up.waitForMessage("match: ready")
        await up.waitForMessage("deliver: ready")
        _ = try await Program.run(
            "belfry", ["send", notes.pipeline], input: Notes.phone(transport: "screen") + Notes.change("n1"))
        #expect(await up.waitForOutputLine("alice-phone") != nil)
        kill(try pid(in: line), SIGKILL)
        #expect(await up.waitForMessage("match: was ended by signal 9; starting it again in 100 ms") != nil)
        #expect(await up.waitForMessage("match: started again, process ") != nil)
        _ = try await Program.run("belfry", ["send", notes.pipeline], input: Notes.change("n2"))
        let tap = try await Program.run(
            "belfry", ["tap", "deliver", "-p", notes.pipeline, "--from", "1", "--limit", "2", "--bare"])
        #expect(tap.output.split(separator: "\n").count == 2)
        up.signal(SIGINT)
        #expect(await up.result().status == 0)
    }

    @Test func `stages end when the supervisor is killed`() async throws {
        let notes = try Notes()
        let up = try Program("belfry", ["up", notes.pipeline])
        await up.waitForMessage("deliver: ready")
        up.signal(SIGKILL)
        // The stages write to the supervisor's standard error, so the result comes when the last stage has ended.
        let result = await up.result()
        #expect(result.status == -SIGKILL)
        let again = try Program("belfry", ["up", notes.pipeline])
        #expect(await again.waitForMessage("deliver: ready") != nil)
        again.signal(SIGTERM)
        #expect(await again.result().status == 0)
    }

    @Test func `all stages in one process start, push and stop cleanly`() async throws {
        let notes = try Notes()
        let up = try Program("belfry", ["up", notes.pipeline, "--in-process"])
        await up.waitForMessage("deliver: ready")
        let sent = try await Program.run(
            "belfry", ["send", notes.pipeline], input: Notes.phone(transport: "screen") + Notes.change("n1"))
        #expect(sent.status == 0)
        #expect(await up.waitForOutputLine("alice-phone") != nil)
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
    }

    @Test
    func `a pipeline in one process is not ready before its gateway, and stops if the gateway cannot start`()
        async throws
    {
        let notes = try Notes()
        let pipeline = try notes.read("notes.yaml")
        try notes.write(pipeline + "api: {listen: \"127.0.0.1:0\"}\n", to: "notes.yaml")
        let up = try Program("belfry", ["up", notes.pipeline, "--in-process"])
        await up.waitForMessage("api: ready, ")
        up.signal(SIGTERM)
        let result = await up.result()
        #expect(result.status == 0)
        let lines = result.errors.split(separator: "\n")
        let gateway = try #require(lines.firstIndex { $0.hasPrefix("api: ready, ") })
        #expect(lines.firstIndex(of: "ready").map { $0 > gateway } ?? true, "\(result.errors)")
        let port = try TakenPort()
        try notes.write(pipeline + "api: {listen: \"127.0.0.1:\(port.number)\"}\n", to: "notes.yaml")
        let refused = try await Program.run("belfry", ["up", notes.pipeline, "--in-process"])
        #expect(refused.status == 69, "\(refused)")
        #expect(refused.errors.contains("api.listen: 127.0.0.1:\(port.number): port in use"), "\(refused)")
    }

    @Test func `a pipeline whose gateway refuses its settings stops with status 78`() async throws {
        let notes = try Notes()
        let api = "api: {listen: \"127.0.0.1:0\", certificate: /nowhere.pem, key: {$env: PATH}}\n"
        try notes.write(notes.read("notes.yaml") + api, to: "notes.yaml")
        let refused = try await Program.run("belfry", ["up", notes.pipeline])
        #expect(refused.status == 78, "\(refused)")
        #expect(refused.errors.contains("api: cannot run with this configuration; stopping"), "\(refused)")
    }

    @Test
    func `if other machines could reach a gateway without keys, nothing starts, and validate warns`() async throws {
        let notes = try Notes()
        let api = "api: {listen: \"0.0.0.0:0\", behindTLS: true}\n"
        try notes.write(notes.read("notes.yaml") + api, to: "notes.yaml")
        let reason = "api.listen: there is no key file \(notes.folder)/data/api/keys.json, so the gateway may "
        for program in [["up"], ["api", "-p"]] {
            let refused = try await Program.run("belfry", program + [notes.pipeline])
            #expect(refused.status == 78 && refused.errors.contains(reason), "\(refused)")
            #expect(refused.errors.hasPrefix("\(notes.pipeline):"), "\(refused)")
        }
        let validated = try await Program.run("belfry", ["validate", notes.pipeline])
        #expect(validated.status == 0 && validated.errors.hasPrefix("warning: "), "\(validated)")
        #expect(validated.errors.contains(reason), "\(validated)")
        let listed = try await Program.run("belfry", ["doctor", notes.pipeline, "--only", "file"])
        #expect(listed.status == 1 && listed.output.contains(#""code":"file.no_keys""#), "\(listed)")
    }

    @Test func `a pipeline file with a mistake starts nothing`() async throws {
        let notes = try Notes(ingest: "{ bindd: x }")
        let result = try await Program.run("belfry", ["up", notes.pipeline])
        #expect(result.status == 78)
        #expect(result.errors.hasPrefix("\(notes.pipeline):5:"))
        #expect(result.errors.contains("did you mean \"bind\"?"))
        #expect(!FileManager.default.fileExists(atPath: notes.folder + "/data"))
    }

    @Test func `a data folder that cannot be made is reported`() async throws {
        let notes = try Notes()
        try notes.write("", to: "data")
        let result = try await Program.run("belfry", ["up", notes.pipeline])
        #expect(result.status == 73)
        #expect(result.errors.hasPrefix("\(notes.folder)/data"))
    }

    @Test func `a pipeline that is already running is not started twice`() async throws {
        let notes = try Notes()
        let up = try Program("belfry", ["up", notes.pipeline])
        await up.waitForMessage("deliver: ready")
        let second = try await Program.run("belfry", ["up", notes.pipeline])
        #expect(second.status == 69)
        #expect(second.errors.contains(" is already running in \(notes.folder)/data: ingest is process "))
        #expect(second.errors.split(separator: "\n", omittingEmptySubsequences: false).count == 2, "\(second.errors)")
        let sent = try await Program.run("belfry", ["send", notes.pipeline], input: Notes.phone())
        #expect(sent.status == 0)
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
    }

    @Test func `a port in use is reported, and up stops after four attempts`() async throws {
        let port = try TakenPort()
        let notes = try Notes(ingest: "{ bind: \"tcp://127.0.0.1:\(port.number)\" }")
        let stage = try await Program.run("belfry-ingest", ["--pipeline", notes.pipeline])
        #expect(stage.status == 69)
        #expect(stage.errors.contains("tcp://127.0.0.1:\(port.number): port in use"))
        let up = try await Program.run("belfry", ["up", notes.pipeline])
        #expect(up.status == 69)
        #expect(up.errors.contains("ingest: ended 4 times before it was ready; stopping"))
    }
}

/// A port in use: this object listens on it.
private final class TakenPort {
    let number: UInt16
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        number = UInt16(bigEndian: address.sin_port)
        try #require(isBound)
    }

    deinit { close(descriptor) }
}
