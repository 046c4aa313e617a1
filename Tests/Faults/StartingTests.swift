import Glibc
import TestSupport
import Testing
import ZeroMQ

/// Tests that errors at the start of a pipeline say what is wrong, and in some cases what to do.
@Suite(.serialized) struct Starting {
    /// - Returns: The path of the pipeline file.
    private func writePipeline(in folder: Folder, data: String, bind: String) throws -> String {
        try folder.write(
            """
            pipeline: starting
            data: \(data)
            stages:
              ingest: {bind: '\(bind)'}
              match: {from: ingest}
            """, to: "\(data.split(separator: "/").last ?? "").yaml")
    }

    /// Starts two pipelines that bind one address but have different data.
    ///
    /// - Returns: The exit status and the messages of the second pipeline.
    private func runSecondPipeline(
        onUsedAddress bind: String, in folder: Folder
    ) async throws -> (status: Int32, said: [String]) {
        let one = try writePipeline(in: folder, data: "one", bind: bind)
        let two = try writePipeline(in: folder, data: "two", bind: bind)
        return try await SocketThread.run(name: "faults") {
            let first = try SpawnedProgram("belfry", ["up", one])
            try first.wait("the first pipeline is ready") { first.lines.contains("ready") }
            let second = try SpawnedProgram("belfry", ["up", two])
            let status = try second.waitUntilExit()
            first.signal(SIGTERM)
            guard try first.waitUntilExit() == 0 else {
                throw FaultError("the first pipeline was disturbed: \(first.lines)")
            }
            return (status, second.lines)
        }
    }

    /// Runs a pipeline that has a plugin, with one line of input.
    private func run(plugin command: String, in folder: Folder) async throws -> (status: Int32, said: [String]) {
        let file = try folder.write(
            """
            pipeline: starting
            data: data
            stages:
              ingest: {}
              match: {from: ingest}
              filter: {from: match, command: [\(command)]}
            """, to: "plugin.yaml")
        let device =
            #"{"type":"device.unregister","container":"iCloud.com.example.A","environment":"production","user":"u","device":"d"}"#
        try folder.write(device + "\n", to: "input.ndjson")
        return try await SocketThread.run(name: "faults") {
            let run = try SpawnedProgram("belfry", ["run", file, folder.file("input.ndjson")])
            return (try run.waitUntilExit(), run.lines)
        }
    }

    @Test func `a missing plugin program is reported with its key in the pipeline file`() async throws {
        let (status, said) = try await run(plugin: "/nope/program", in: Folder())
        #expect(status == 78, "\(said)")
        #expect(
            said.contains { $0.contains("filter.command: cannot start /nope/program: it is not an executable file") },
            "\(said)")
    }

    @Test func `if a plugin's program ends at once every time, the pipeline ends with an error status`() async throws {
        let (status, said) = try await run(plugin: "/bin/sh, -c, exit 3", in: Folder())
        #expect(status != 0, "\(said)")
        let reason =
            "it ended 5 times in a row before it opened the link in BELFRY_LINK; the last time it exited with status 3"
        #expect(said.contains { $0.contains(reason) }, "\(said)")
    }

    @Test(.timeLimit(.minutes(5))) func `a closed standard input is reported`() async throws {
        let folder = try Folder()
        let file = try writePipeline(in: folder, data: "one", bind: "ipc://\(folder.path)/one.link")
        let (status, said) = try await SocketThread.run(name: "faults") {
            let run = try SpawnedProgram("belfry", ["run", file], input: nil)
            return (try run.waitUntilExit(within: .seconds(20)), run.lines)
        }
        #expect(status == 66, "\(said)")
        #expect(said.contains { $0.contains("standard input: it is closed") }, "\(said)")
    }

    @Test func `a port in use is reported with the remedy`() async throws {
        let endpoint = "tcp://127.0.0.1:\(20_000 + Int(getpid()) % 20_000)"
        let (status, said) = try await runSecondPipeline(onUsedAddress: endpoint, in: Folder())
        #expect(status == 69, "\(said)")
        #expect(
            said.contains { $0.contains("ingest: ") && $0.contains(endpoint) && $0.contains("choose another `bind`") },
            "\(said)")
    }

    @Test func `a socket file in use is reported with the remedy`() async throws {
        let folder = try Folder()
        let endpoint = "ipc://\(folder.path)/shared.link"
        let (status, said) = try await runSecondPipeline(onUsedAddress: endpoint, in: folder)
        #expect(status == 69, "\(said)")
        #expect(said.contains { $0.contains(endpoint) && $0.contains("choose another `bind`") }, "\(said)")
    }

    @Test func `a second process on one log is refused, and the error names the first process`() async throws {
        let folder = try Folder()
        let file = try writePipeline(in: folder, data: "one", bind: "ipc://\(folder.path)/one.link")
        let (status, said, owner) = try await SocketThread.run(name: "faults") {
            let up = try SpawnedProgram("belfry", ["up", file])
            try up.wait("ready") { up.lines.contains("ready") }
            let owner = up.lines.first { $0.hasPrefix("match: ready, process ") }?.split { " ,".contains($0) }
                .dropFirst(3).first
            let second = try SpawnedProgram("belfry-match", ["--pipeline", file])
            let status = try second.waitUntilExit()
            up.signal(SIGTERM)
            guard try up.waitUntilExit() == 0 else { throw FaultError("the first process was disturbed: \(up.lines)") }
            return (status, second.lines, owner.map(String.init) ?? "?")
        }
        #expect(status == 69, "\(said)")
        #expect(
            said.contains { $0.contains("match: log 'matches'") && $0.contains("already open in process \(owner)") },
            "\(said)")
    }

    @Test(arguments: [
        ("/proc/belfry", "/proc/belfry"), ("/dev/null/belfry", "/dev/null is not a folder"),
        ("/dev/null", "/dev/null is not a folder"),
    ])
    func `a data folder that cannot be created is reported with the remedy`(data: String, obstacle: String) async throws
    {
        let folder = try Folder()
        let file = try writePipeline(in: folder, data: data, bind: "ipc://\(folder.path)/one.link")
        let (status, said) = try await SocketThread.run(name: "faults") {
            let up = try SpawnedProgram("belfry", ["up", file])
            return (try up.waitUntilExit(), up.lines)
        }
        #expect(status == 73, "\(said)")
        #expect(said.contains { $0.contains(obstacle) && $0.contains("choose another data folder") }, "\(said)")
    }
}
