import EventLog
import JSON
import PipelineKit

/// Feeds a stage its past: the `(cursor, now)` pairs of its own log say when it was woken between two events.
struct Rebuild {
    /// The last upstream sequence whose effects are in the stage's log.
    let through: UInt64
    private let upstream: String
    private let reader: EventLogReader
    private var header: BatchHeader?
    private var cursor: UInt64 = 0

    init(_ plan: HostPlan, upstream: String, through: UInt64) throws {
        self.through = through
        self.upstream = upstream
        reader = try EventLogReader(directory: plan.logDirectory, from: .sequence(1))
        try step()
    }

    /// The time of the next recorded batch that answers only events before `sequence`; nil when there is none.
    mutating func nextWake(before sequence: UInt64) throws -> Instant? {
        guard let header, cursor < sequence else { return nil }
        try step()
        return header.now
    }

    private mutating func step() throws {
        header = try reader.nextHeader()
        if let position = header?.cursor.positions[upstream] { cursor = position }
    }
}

/// Which upstream log a stage's log was made from, kept beside it: a cursor means nothing in another log.
struct UpstreamRecord {
    private let path: String

    init(_ plan: HostPlan) { path = plan.logDirectory + "/upstream.json" }

    func check(_ log: String, _ identity: LogIdentity, endpoint: String) throws {
        guard let recorded = try SmallText.read(path) else {
            return try SmallText.write("{\"log\":\"\(log)\",\"identity\":\"\(identity)\"}\n", to: path)
        }
        guard let expected = UpstreamRecord.identity(in: recorded) else { throw SmallTextError.unreadable(path) }
        guard expected == identity else {
            throw LinkError.otherUpstream(endpoint: endpoint, expected: expected, found: identity)
        }
    }

    private static func identity(in text: String) -> LogIdentity? {
        var parser = JSONParser()
        return Array(text.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) {
                return try parser.parse(bytes).text("identity").flatMap(LogIdentity.init(uuid:))
            } catch { return nil }
        }
    }
}
