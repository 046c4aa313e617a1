import BuiltIns
import Events
import JSON
import PipelineKit
import PipelineRuntime
import Time
import ZeroMQ

/// Measures ingest while a given number of records are made, then while they are changed, and then its restart.
/// Ingest's host, its log and a producer are in this process.
struct IngestBench: Sendable {
    /// How many records exist before the changes. The changes also create and delete records.
    let records: Int
    let changes: Int
    let folder: String
    let interruption: Interruption

    struct Result: Sendable {
        let records: Int
        /// Creates per second while the bench made the records.
        var createsPerSecond = 0.0
        var changesPerSecond = 0.0
        /// The memory of the process after the restart of ingest, minus its memory before the first start of ingest,
        /// divided by ``records``.
        var bytesPerRecord = 0.0
        var restartSeconds = 0.0
        /// For each cause, the longest pause of the stage during the changes.
        var pauses: [StagePause] = []

        var longestPause: StagePause? { pauses.max { $0.milliseconds < $1.milliseconds } }
    }

    func run() async throws -> Result {
        let file = try pipeline()
        try DataFolder.prepare(file.data)
        let before = try IngestBench.memory()
        let measured = try await whileRunning(file) { process in
            try await SocketThread.run(name: "producer") { try IngestProducer(self, process).run() }
        }
        try interruption.check()
        let start = ContinuousClock.now
        return try await whileRunning(file) { process in
            guard await process.source.control.wait(until: { $0.phase == .running }) else {
                throw ToolFailure(.software, "ingest ended during its start")
            }
            var result = measured
            result.restartSeconds = (ContinuousClock.now - start) / .seconds(1)
            result.bytesPerRecord = (try IngestBench.memory() - before) / Double(records)
            return result
        }
    }

    private func whileRunning<Value: Sendable>(
        _ file: PipelineFile, _ body: @Sendable (PipelineProcess) async throws -> Value
    ) async throws -> Value {
        let surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        let process = try PipelineProcess(file, in: surroundings)
        async let running: Void = process.run()
        let value: Value
        do { value = try await body(process) } catch {
            process.stop()
            throw error
        }
        process.stop()
        try await running
        return value
    }

    private func pipeline() throws -> PipelineFile {
        let path = folder + "/bench.yaml"
        try TextFile.write(
            """
            pipeline: bench
            data: data
            log: { sync: interval 50ms }
            stages:
              ingest: {}

            """, to: path)
        return try CheckedPipeline(PipelineText(path: path), checkingOnlyStagesOf: .builtIns).file
    }

    /// The anonymous memory of this process, in bytes.
    private static func memory() throws -> Double {
        ProcessUse.trimMemory()
        return Double(try ProcessUse.own().anonymousBytes)
    }
}

/// Makes the records, then changes them at random, as fast as ingest accepts the lines.
private final class IngestProducer {
    private let bench: IngestBench
    private let process: PipelineProcess
    private let producer: Producer
    private var refused = 0
    private var lastAnswer = ContinuousClock.now

    private static let blockLines = 300
    private static let stallTimeout = Duration.seconds(30)

    init(_ bench: IngestBench, _ process: PipelineProcess) throws {
        (self.bench, self.process) = (bench, process)
        producer = try process.producer("belfry bench")
        producer.onAnswer = { [unowned self] in
            refused += $0.refused
            lastAnswer = .now
        }
    }

    func run() throws -> IngestBench.Result {
        defer { producer.socket.close() }
        var result = IngestBench.Result(records: bench.records)
        _ = try producer.greet(timeout: .seconds(20))
        result.createsPerSecond = try send(bench.records) { IngestLine.save($0, version: 0, to: &$1) }
        let probe = try StageProbe(process.source.plan, process.context, timeout: .seconds(5))
        _ = try probe.ask(forgetsPauses: true)
        result.changesPerSecond = try send(bench.changes) { [records = bench.records] number, buffer in
            IngestLine.change(number, among: records, to: &buffer)
        }
        result.pauses = try probe.ask()?.pauses ?? []
        guard refused == 0 else { throw ToolFailure(.software, "ingest refused \(refused) lines") }
        return result
    }

    /// - Returns: Lines per second, from the first line sent to the last answer.
    private func send(_ count: Int, _ write: (Int, inout ByteBuffer) -> Void) throws -> Double {
        let start = ContinuousClock.now
        for first in stride(from: 0, to: count, by: IngestProducer.blockLines) {
            let numbers = first..<min(first + IngestProducer.blockLines, count)
            var block = ByteBuffer(capacity: 128 << 10)
            for number in numbers { write(number, &block) }
            try wait { producer.hasRoom }
            try producer.send(Array(block.bytes), count: numbers.count)
            try producer.pump(wait: .zero)
        }
        try wait { producer.isDone }
        return Double(count) / ((ContinuousClock.now - start) / .seconds(1))
    }

    private func wait(_ isMet: () -> Bool) throws {
        let start = ContinuousClock.now
        while !isMet() {
            try bench.interruption.check()
            guard ContinuousClock.now - max(start, lastAnswer) < IngestProducer.stallTimeout else {
                throw ToolFailure(.software, "ingest has not answered for 30 seconds")
            }
            try producer.pump(wait: .milliseconds(100))
        }
    }
}

/// The commands of the bench. The records belong to 100,000 users, and each user has one zone.
private enum IngestLine {
    private static let users = 100_000

    /// Of ten changes, eight save one of the records, one saves a new record, and one deletes one of the records. For
    /// the delete, ingest must read the record's last fields, unless an earlier change has deleted the record.
    static func change(_ number: Int, among records: Int, to buffer: inout ByteBuffer) {
        let record = Int(Mixer.scramble(UInt64(number)) % UInt64(records))
        switch number % 10 {
        case 0: delete(record, to: &buffer)
        case 1: save(records + number, version: number, to: &buffer)
        default: save(record, version: number, to: &buffer)
        }
    }

    static func save(_ record: Int, version: Int, to buffer: inout ByteBuffer) {
        begin(EventName.recordSave, record, to: &buffer)
        buffer.append(
            raw: #","recordType":"Note","fields":{"topic":{"value":"t\#(record % 1_000)","type":"STRING"},"#
                + #""priority":{"value":\#(version % 10),"type":"INT64"},"title":{"value":"Draft \#(version), "#
                + #"written on a train between two stations, and then again at home","type":"STRING"}}}}"#
                + "\n")
    }

    private static func delete(_ record: Int, to buffer: inout ByteBuffer) {
        begin(EventName.recordDelete, record, to: &buffer)
        buffer.append("}}\n")
    }

    /// Writes the beginning of a command. The zone of the record is the last part that this method writes.
    private static func begin(_ event: StaticString, _ record: Int, to buffer: inout ByteBuffer) {
        let user = record % users
        buffer.begin(event: event)
        buffer.append(
            raw: #","container":"iCloud.com.example.Bench","environment":"production","database":"private","#
                + #""owner":"_u\#(user)","origin":{"\#(Member.user)":"_u\#(user)","device":"mac"},"#
                + #""record":{"recordName":"r\#(record)","zoneID":{"zoneName":"Notes"}"#)
    }
}
