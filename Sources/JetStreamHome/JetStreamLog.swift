import EventLog
import JetStream
import NATS
import Synchronization
import Time

/// A log in its stream.
final class JetStreamLog: HomeLog {
    let identity: LogIdentity
    var host: String { settings.host }
    private let log: String
    private let name: HomeName
    private let jetStream: JetStream
    private let settings: JetStreamHome.Settings
    private let say: @Sendable (String) -> Void
    /// Nil before the log was taken over.
    private let writer = Mutex<StreamWriter?>(nil)
    private let interruption: StreamWriter.Interruption
    private let delays: HomeDelays
    private let snapshotStream: SnapshotStream

    private static let fileHeader = "Belfry-File"
    /// How long one read may wait for the messages that the stream has.
    private static let readLimit = Duration.seconds(5)

    init(
        _ jetStream: JetStream, _ name: HomeName, log: String, identity: LogIdentity,
        _ settings: JetStreamHome.Settings, _ interruption: StreamWriter.Interruption, _ delays: HomeDelays,
        say: @escaping @Sendable (String) -> Void
    ) {
        (self.jetStream, self.name, self.log, self.identity) = (jetStream, name, log, identity)
        (self.settings, self.interruption, self.delays, self.say) = (settings, interruption, delays, say)
        snapshotStream = SnapshotStream(jetStream, name.snapshots, of: log, identity, settings, interruption, say: say)
    }

    // MARK: Reading

    func read(
        after position: UInt64, _ take: (HomeMessage) throws(EventLogError) -> Void
    ) throws(EventLogError) -> UInt64 {
        try HomeProblem.catching(log) {
            let info = try HomeProblem.waiting(settings.openTimeout) { () throws(JetStreamError) in
                try jetStream.info(name.stream)
            }
            guard info.last >= position else {
                let error = JetStreamError.shortened(stream: name.stream.text, acknowledged: position, last: info.last)
                throw HomeProblem(
                    "\(error); on the machine that wrote the log last, 'belfry log repair \(log) -p FILE' shows whether "
                        + "the local files have them")
            }
            guard position == 0 || info.first <= position + 1 else {
                throw HomeProblem(
                    "stream \(name.stream) begins with message \(info.first), because retention has removed older ones, "
                        + "but the folder of the log has only what came through message \(position): move this folder "
                        + "away, and it is filled again from the servers")
            }
            let start = position == 0 ? info.first : position + 1
            let reader = StreamReader(jetStream, name.stream, from: max(start, 1))
            while reader.next <= info.last {
                let messages = try HomeProblem.waiting(settings.openTimeout) { () throws(JetStreamError) in
                    try reader.read(atMost: Self.readLimit)
                }
                for message in messages where message.sequence <= info.last { try take(content(of: message)) }
            }
            return info.last
        }
    }

    private func content(of message: StoredMessage) throws -> HomeMessage {
        guard let writer = message.header(WriterName.header).flatMap({ WriterName($0) }) else {
            throw HomeProblem("message \(message.sequence) of stream \(name.stream) was not written by Belfry")
        }
        switch message.subject {
        case name.batches: return HomeMessage(message.sequence, .batches(message.body))
        case name.owner: return HomeMessage(message.sequence, .owner(host: writer.host))
        case name.file:
            let text = String(decoding: message.body, as: UTF8.self)
            return HomeMessage(message.sequence, .file(name: message.header(Self.fileHeader) ?? "", text: text))
        default:
            throw HomeProblem(
                "message \(message.sequence) of stream \(name.stream) has the unknown subject \(message.subject)")
        }
    }

    // MARK: Writing

    func takeOver(after end: UInt64) throws(EventLogError) -> UInt64? {
        try HomeProblem.catching(log) {
            try writer.withLock { current in
                let (log, delays, say) = (log, delays, say)
                let writer = StreamWriter(
                    jetStream.connection, name.stream, name: WriterName(host: settings.host), last: end,
                    settings: settings.writer, interruption: interruption,
                    onDelay: {
                        delays.note($0, of: log)
                        say(Self.text(of: $0, log))
                    })
                do {
                    let position = try writer.publish(NATSMessage(name.owner))
                    current = writer
                    return position
                } catch JetStreamError.replaced { return nil }
            }
        }
    }

    func append(_ content: HomeMessage.Content) throws(EventLogError) -> UInt64 {
        try HomeProblem.catching(log) {
            try writer.withLock { writer in
                guard let writer else { throw HomeProblem("the log was not taken over") }
                do { return try writer.publish(message(content)) } catch let error as JetStreamError {
                    guard case .replaced = error else { throw error }
                    throw EventLogError.replaced(log: log, reason: "\(error)")
                }
            }
        }
    }

    private func message(_ content: HomeMessage.Content) -> NATSMessage {
        switch content {
        case .batches(let bytes): NATSMessage(name.batches, body: bytes)
        case .owner: NATSMessage(name.owner)
        case .file(let file, let text):
            NATSMessage(name.file, headers: [NATSHeader(Self.fileHeader, file)], body: Array(text.utf8))
        }
    }

    private static func text(of delay: WriterDelay?, _ log: String) -> String {
        "\(log): " + (delay.map { "\($0.text); no further events are taken until then" } ?? "stored again")
    }

    func hasOwner(at position: UInt64) throws(EventLogError) -> Bool {
        try HomeProblem.catching(log) {
            let info = try jetStream.info(name.stream)
            guard position <= info.last else { return false }
            return try jetStream.message(position, of: name.stream).map { $0.subject == name.owner }
                ?? (position < info.first)
        }
    }

    // MARK: Trimming

    func trim(
        before sequence: UInt64, _ keep: () throws(EventLogError) -> Void
    ) throws(EventLogError) {
        try HomeProblem.catching(log) {
            let info = try jetStream.info(name.stream)
            let start = try position(of: sequence, in: info.first...max(info.first, info.last))
            guard start > info.first else { return }
            try keep()
            try jetStream.purge(name.stream, before: start)
        }
    }

    func firstSequence() throws(EventLogError) -> UInt64? {
        try HomeProblem.catching(log) {
            let info = try jetStream.info(name.stream)
            guard info.last >= info.first else { return nil }
            return try firstBatches(from: info.first, below: info.last + 1)?.first
        }
    }

    /// The position of the message with an event, or of the first message that begins with it.
    private func position(of sequence: UInt64, in positions: ClosedRange<UInt64>) throws -> UInt64 {
        var (low, high) = (positions.lowerBound, positions.upperBound + 1)
        // The first message that begins with the event or a later one is at `high`, or between `low` and `high`.
        var foundFirst: UInt64?
        // The last message found that begins with an earlier event.
        var before = positions.lowerBound
        while low < high {
            let middle = low + (high - low) / 2
            guard let (position, first) = try firstBatches(from: middle, below: high) else {
                high = middle
                continue
            }
            if first >= sequence {
                (high, foundFirst) = (middle, first)
            } else {
                (low, before) = (position + 1, position)
            }
        }
        return foundFirst == sequence ? low : before
    }

    /// The position of the first message with batches, and the sequence with which it begins.
    private func firstBatches(from start: UInt64, below end: UInt64) throws -> (position: UInt64, first: UInt64)? {
        for position in start..<end {
            guard let message = try jetStream.message(position, of: name.stream) else {
                throw JetStreamError.gap(stream: name.stream.text, sequence: position)
            }
            guard case .batches(let bytes) = try content(of: message).content else { continue }
            guard let first = EventLogLimits.firstSequence(ofMessage: bytes) else {
                throw HomeProblem("message \(position) of stream \(name.stream) does not begin with an opening")
            }
            return (position, first)
        }
        return nil
    }

    // MARK: Snapshots

    func snapshots() throws(EventLogError) -> [HomeSnapshot] {
        try HomeProblem.catching(log) { try snapshotStream.snapshots() }
    }

    func read(
        _ snapshot: HomeSnapshot, _ take: ([UInt8]) throws(EventLogError) -> Void
    ) throws(EventLogError) {
        try HomeProblem.catching(log) { try snapshotStream.read(snapshot, take) }
    }

    func keep(
        _ snapshot: HomeSnapshot, _ read: @Sendable (_ offset: UInt64, _ count: Int) throws(EventLogError) -> [UInt8]
    ) throws(EventLogError) {
        try HomeProblem.catching(log) { try snapshotStream.keep(snapshot, read) }
    }
}

extension WriterDelay {
    var text: String {
        switch self {
        case .diskFull: "the NATS servers have no room for the log: waiting for room"
        case .noQuorum: "no majority of the stream's NATS servers is there: waiting for it"
        case .noConnection: "there is no connection to a NATS server: connecting again"
        case .noAnswer: "the NATS servers do not answer: asking again"
        case .contradiction: "the NATS servers contradict each other: asking again"
        }
    }
}
