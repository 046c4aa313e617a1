import Events
import JSON
import Match
import PipelineKit
import PipelineRuntime

/// The notifications of the payload bench.
///
/// Each comes from a change of `belfry bench pipeline` and a subscription with three desired keys and two localization
/// arguments, and has the form in which match and coalesce write it.
struct PayloadBenchInput: Sendable {
    static let desiredKeys = ["title", "priority", "topic"]
    static let arguments = ["title", "topic"]
    private static let users = 1_000

    /// One notification a line.
    private let bytes: [UInt8]
    let count: Int

    /// - Throws: ``ToolFailure`` if a change does not match, which is a bug of the bench.
    init(count: Int) throws {
        var outbox = Outbox()
        var stage = StageClock(try MatchStage(MatchSettings(), context: PayloadBench.context(of: "matches")))
        var parser = JSONParser()
        var sequence: UInt64 = 0
        func feed(_ line: [UInt8]) throws {
            sequence += 1
            try line.withUnsafeBytes { line in
                let event = InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
                stage.receive(event, at: .epoch, into: &outbox)
            }
        }
        for user in 0..<PayloadBenchInput.users { try feed(PayloadBenchInput.subscription(of: user)) }
        for number in 0..<count { try feed(PayloadBenchInput.change(number)) }
        guard outbox.takeRejections().isEmpty, outbox.count == count else {
            throw ToolFailure(.software, "\(outbox.count) of \(count.of("change")) matched")
        }
        bytes = PayloadBenchInput.notifications(outbox.lines)
        self.count = count
    }

    /// The mean length of a notification, without its line feed.
    var meanBytes: Double { Double(bytes.count) / Double(count) - 1 }

    func readLines(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try bytes.withUnsafeBytes { bytes in
            for line in Lines(bytes) { try body(line) }
        }
    }

    private static func subscription(of user: Int) -> [UInt8] {
        func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ",") }
        let digits = "\(1_000_000 + user)".dropFirst()
        return Array(
            """
            {"type":"subscription.save",\(WorkloadNames.place),"database":"private","\(Member.user)":"_u\(digits)","subscription":\
            {"\(Member.subscriptionID)":"notes","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["update"],\
            "notificationInfo":{"title":"Bench","alertLocalizationKey":"CHANGED",\
            "alertLocalizationArgs":[\(list(arguments))],"desiredKeys":[\(list(desiredKeys))],"soundName":"default"}}}
            """.utf8)
    }

    /// A change as ingest writes it to its log.
    private static func change(_ number: Int) -> [UInt8] {
        let slot = number % users * Workload.subscriptionsPerUser
        let change = Workload.Change(
            slot: slot, record: number % 100_000, isWatched: true, topic: slot, priority: number % 10)
        var line = [UInt8](repeating: 0, count: Workload.lineBytes)
        line.withUnsafeMutableBufferPointer {
            ChangeTemplate(.privateQuery).write(change, number: UInt64(number), to: $0)
        }
        return line.dropLast(2) + Array(#","change":"update"}"#.utf8)
    }

    /// Turns each match line into a notification as coalesce writes it when it does not hold the notification back.
    private static func notifications(_ matches: UnsafeRawBufferPointer) -> [UInt8] {
        let start = "{\"type\":\"match\"".utf8.count
        var buffer = ByteBuffer(capacity: matches.count * 2)
        for line in Lines(matches) {
            buffer.begin(event: EventName.notification)
            buffer.append(member: .causes)
            buffer.append("[{\"log\":\"changes\",\"sequence\":1000000}]")
            buffer.append(UnsafeRawBufferPointer(rebasing: line[start...]))
            buffer.append(byte: UInt8(ascii: "\n"))
        }
        return Array(buffer.bytes)
    }
}
