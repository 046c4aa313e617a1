import EventLog
import Glibc
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// Runs real processes with a limit on the size of files, or on a small file system that is full. A stage without
/// room for its log reports the full disk and waits. When there is room again, it continues by itself. No acknowledged
/// event is lost.
@Suite(.serialized) struct FullDisk {
    private static let logs = [
        "ingest": "changes", "match": "matches", "coalesce": "notifications", "payload": "pushes",
    ]

    @Test(
        .enabled(if: FileSizeLimit.isAvailable, Comment(rawValue: FileSizeLimit.missing)),
        arguments: Tier.some(of: ["ingest", "match", "coalesce", "payload"]))
    func `a log without room delays its stage`(_ stage: String) async throws {
        let seed = Seeded.ofThisRun
        let log = try #require(Self.logs[stage])
        let (result, health, said) = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            let load = DisturbedRun(pipeline, seed: seed)
            var health: Health?
            let result = try load.run(disturbing: load.thirds) {
                guard let pid = pipeline.pids[stage] else { throw FaultError("\(stage) has no process") }
                if !load.isHalfway {
                    return try FileSizeLimit.set(pipeline.sizeOfLog(log), of: pid)
                }
                try pipeline.waitUntilFull(stage)
                health = try pipeline.health(of: stage)
                #expect(load.accepted <= (health?.last ?? 0) || stage != "ingest", "accepted lines are missing")
                try FileSizeLimit.set(nil, of: pid)
            }
            return (result, health, pipeline.up.lines)
        }
        result.check()
        #expect(result.restarts == 0)
        #expect(health?.phase == "disk_full")
        #expect(health?.file?.contains("/logs/\(log)/") == true && (health?.bytesNeeded ?? 0) > 0)
        #expect(result.events == result.sent, "a command is missing or is there twice")
        #expect(said.count { $0.hasPrefix("\(stage): disk full: ") } == 1, "\(said)")
        #expect(said.count { $0.hasPrefix("\(stage): there is room again") } == 1, "\(said)")
    }

    @Test(.enabled(if: SmallDisk.isPermitted, Comment(rawValue: SmallDisk.missing)))
    func `a data folder without room delays the pipeline`() async throws {
        let seed = Seeded.ofThisRun
        let (result, said) = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(onSmallDisk: true)
            let load = DisturbedRun(pipeline, seed: seed, changes: 800)
            let filler = pipeline.data + "/filler"
            let result = try load.run(disturbing: load.thirds) {
                if !load.isHalfway { return try SmallDisk.fill(withFileAt: filler) }
                try pipeline.waitUntilFull("ingest")
                let phase = try pipeline.health(of: "ingest").phase
                guard phase == "disk_full" else { throw FaultError("ingest reports the phase \(phase)") }
                guard unlink(filler) == 0 else { throw FaultError("cannot remove \(filler): errno \(errno)") }
            }
            return (result, pipeline.up.lines)
        }
        result.check()
        #expect(result.restarts == 0)
        #expect(result.events == result.sent, "a command is missing or is there twice")
        #expect(said.count { $0.hasPrefix("ingest: disk full: ") } == 1, "\(said)")
    }

    @Test(
        .enabled(if: FileSizeLimit.isAvailable, Comment(rawValue: FileSizeLimit.missing)),
        .disabled(if: Sanitizer.isThread, "the sanitizer writes a file of its own before a program begins"))
    func `a pipeline waits for room if it starts on a full disk, and each stage reports the disk once`() async throws {
        let said = try await SocketThread.run(name: "faults") {
            let folder = try Folder()
            let file = try folder.write(LivePipeline.yaml(), to: "pipeline.yaml")
            let up = try SpawnedProgram(FileSizeLimit.launcherWithoutSpace + [Programs.path("belfry"), "up", file])
            try up.wait("every stage says that its disk is full") {
                LivePipeline.stages.allSatisfy { stage in up.lines.contains { $0.hasPrefix("\(stage): disk full: ") } }
            }
            // In the next second the stages try again. No stage may end or report anything more.
            for _ in 0..<20 { up.read(wait: .milliseconds(50)) }
            let waiting = up.lines
            let context = try ZMQContext()
            for stage in LivePipeline.stages {
                let health = try Health.ask("ipc://\(folder.path)/data/\(stage).link", context)
                guard health.phase == "disk_full", health.file?.contains("/logs/") == true else {
                    throw FaultError("\(stage): \(health)")
                }
            }
            let input = try folder.write("{}\n", to: "in.ndjson")
            let send = try SpawnedProgram("belfry", ["send", file, "--timeout", "0.5", input])
            guard try send.waitUntilExit() == 69,
                send.lines.first?.hasPrefix("ingest has no disk space for its log in ") == true
            else {
                throw FaultError("\(send.lines)")
            }
            for pid in try Processes.children(of: up.pid) { try FileSizeLimit.set(nil, of: pid) }
            try up.wait("every stage is ready") { up.lines.contains("ready") }
            up.signal(SIGTERM)
            guard try up.waitUntilExit() == 0 else { throw FaultError("\(up.lines)") }
            guard waiting.count == LivePipeline.stages.count else {
                throw FaultError("the stages reported more than the full disk: \(waiting)")
            }
            return up.lines
        }
        #expect(!said.contains { $0.contains("starting it again") }, "\(said)")
        for stage in LivePipeline.stages {
            #expect(said.count { $0.hasPrefix("\(stage): there is room again in ") } == 1, "\(said)")
        }
    }
}

extension LivePipeline {
    func waitUntilFull(_ stage: String) throws {
        up.read(wait: .zero)
        try up.wait("\(stage) says that its disk is full") {
            up.lines.contains { $0.hasPrefix("\(stage): disk full: ") }
        }
    }

    func health(of stage: String) throws -> Health { try Health.ask("ipc://\(data)/\(stage).link", context) }

    /// The size of the log in bytes.
    func sizeOfLog(_ log: String) throws -> UInt64 {
        try EventLogs.summary(directory: data + "/logs/" + log).bytes
    }

    /// How many events a log has.
    func events(of log: String) throws -> Int {
        let reader = try EventLogReader(directory: data + "/logs/" + log, from: .beginning)
        var count = 0
        while let batch = try reader.next() { count += Int(batch.header.count) }
        return count
    }
}
