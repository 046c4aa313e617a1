import EventLog
import JSON
import JetStream
import NATS
import Synchronization
import Time

/// The newest snapshots of a log, in a stream of their own. The first snapshot makes the stream.
///
/// The file of a snapshot is stored in parts, one message each. After them, a list of the kept snapshots is stored,
/// with the positions of their parts. Only the last list counts. So a snapshot is kept once the list after it is
/// stored, and parts that no list names, for example after a crash, are never read. What comes before the parts of the
/// oldest kept snapshot is removed.
final class SnapshotStream: Sendable {
    fileprivate struct Kept: Hashable, Sendable {
        var snapshot: HomeSnapshot
        /// The positions of the parts.
        var parts: ClosedRange<UInt64>
    }

    private struct State {
        /// Nil before the first snapshot of this host, and after a failure.
        var writer: StreamWriter?
        /// The stream's last list, as long as `writer` is not nil.
        var kept: [Kept] = []
    }

    private let jetStream: JetStream
    private let name: HomeName.SnapshotsName
    private let log: String
    private let identity: LogIdentity
    private let settings: JetStreamHome.Settings
    private let interruption: StreamWriter.Interruption
    private let say: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// How long one read may wait for the parts that the stream has.
    private static let readLimit = Duration.seconds(5)

    init(
        _ jetStream: JetStream, _ name: HomeName.SnapshotsName, of log: String, _ identity: LogIdentity,
        _ settings: JetStreamHome.Settings, _ interruption: StreamWriter.Interruption,
        say: @escaping @Sendable (String) -> Void
    ) {
        (self.jetStream, self.name, self.log, self.identity) = (jetStream, name, log, identity)
        (self.settings, self.interruption, self.say) = (settings, interruption, say)
    }

    private var wanted: StreamSettings {
        settings.stream(name.stream, name.subjects, HomeIdentity(log: log, identity: identity))
    }

    // MARK: Reading

    /// See ``HomeLog/snapshots()``.
    func snapshots() throws -> [HomeSnapshot] {
        do {
            try check(try waiting { () throws(JetStreamError) in try jetStream.info(name.stream) })
        } catch let error as JetStreamError where error.isStreamNotFound { return [] }
        return try lastList().map(\.snapshot)
    }

    private func lastList() throws -> [Kept] {
        let message = try waiting { () throws(JetStreamError) in
            try jetStream.lastMessage(on: name.list, of: name.stream)
        }
        guard let message else { return [] }
        guard let kept = Kept.list(message.body) else {
            throw HomeProblem("message \(message.sequence) of stream \(name.stream) is not a list by Belfry; \(advice)")
        }
        return kept
    }

    /// See ``HomeLog/read(_:_:)``.
    func read(_ snapshot: HomeSnapshot, _ take: ([UInt8]) throws(EventLogError) -> Void) throws {
        guard let kept = try lastList().first(where: { $0.snapshot == snapshot }) else {
            throw HomeProblem("snapshot \(snapshot.name) is no longer in stream \(name.stream)")
        }
        let reader = StreamReader(jetStream, name.stream, from: kept.parts.lowerBound)
        var bytes: UInt64 = 0
        while reader.next <= kept.parts.upperBound {
            let messages = try waiting { () throws(JetStreamError) in try reader.read(atMost: Self.readLimit) }
            for message in messages where message.sequence <= kept.parts.upperBound {
                guard message.subject == name.part else {
                    throw HomeProblem(
                        "message \(message.sequence) of stream \(name.stream) is not a part of a snapshot; \(advice)")
                }
                bytes += UInt64(message.body.count)
                try take(message.body)
            }
        }
        guard bytes == snapshot.bytes else {
            throw HomeProblem(
                "snapshot \(snapshot.name) in stream \(name.stream) has \(bytes) bytes instead of \(snapshot.bytes); "
                    + advice)
        }
    }

    /// Checks that the stream is the one that this log would make.
    private func check(_ info: StreamInfo) throws {
        let found = try HomeProblem.identity(in: info, wanted, log)
        guard found != identity else { return }
        throw HomeProblem("stream \(name.stream) has snapshots of log \(found), but the log is \(identity); \(advice)")
    }

    private var advice: String {
        "remove the stream with 'nats stream rm \(name.stream)': if retention has removed nothing from the stage's logs, "
            + "the stage makes the same state again"
    }

    private func waiting<Answer>(_ request: () throws(JetStreamError) -> Answer) throws(JetStreamError) -> Answer {
        try HomeProblem.waiting(settings.openTimeout, request)
    }

    // MARK: Writing

    /// See ``HomeLog/keep(_:_:)``.
    func keep(
        _ snapshot: HomeSnapshot, _ read: @Sendable (_ offset: UInt64, _ count: Int) throws(EventLogError) -> [UInt8]
    ) throws {
        try state.withLock { state in
            do { try keep(snapshot, &state, read) } catch {
                state.writer = nil
                throw error
            }
        }
    }

    private func keep(
        _ snapshot: HomeSnapshot, _ state: inout State,
        _ read: @Sendable (_ offset: UInt64, _ count: Int) throws(EventLogError) -> [UInt8]
    ) throws {
        let writer = try state.writer ?? open(&state)
        let first = writer.last + 1
        var offset: UInt64 = 0
        while offset < snapshot.bytes {
            let part = try read(offset, Int(min(UInt64(HomeSnapshot.partBytes), snapshot.bytes - offset)))
            guard !part.isEmpty else { throw HomeProblem("snapshot \(snapshot.name) became shorter while it was read") }
            _ = try writer.publish(NATSMessage(name.part, body: part))
            offset += UInt64(part.count)
        }
        let others = state.kept.filter { $0.snapshot.name != snapshot.name }
        let kept = Array((others + [Kept(snapshot: snapshot, parts: first...writer.last)]).suffix(HomeSnapshot.count))
        _ = try writer.publish(NATSMessage(name.list, body: Kept.text(kept)))
        state.kept = kept
        // After a failure, the next snapshot removes these messages, too.
        do { try jetStream.purge(name.stream, before: kept[0].parts.lowerBound) } catch {}
    }

    private func open(_ state: inout State) throws -> StreamWriter {
        let info = try waiting { () throws(JetStreamError) in try jetStream.infoOrNew(wanted) }
        try check(info)
        let (log, say) = (log, say)
        let writer = StreamWriter(
            jetStream.connection, name.stream, name: WriterName(host: settings.host), last: info.last,
            settings: settings.writer, interruption: interruption,
            onDelay: { delay in
                let text = delay.map { "no snapshot is stored for now: \($0.text)" } ?? "the snapshot is stored"
                say("\(log): \(text)")
            })
        (state.writer, state.kept) = (writer, try lastList())
        return writer
    }
}

extension SnapshotStream.Kept {
    /// `{"snapshots":[{"name":"…","bytes":7,"first":1,"last":1},…]}`
    fileprivate static func text(_ kept: [Self]) -> [UInt8] {
        let text = ByteBuffer.object { list in
            list.append("snapshots", kept) { buffer, kept in
                buffer.object {
                    $0.append("name", kept.snapshot.name)
                    $0.append("bytes", kept.snapshot.bytes)
                    $0.append("first", kept.parts.lowerBound)
                    $0.append("last", kept.parts.upperBound)
                }
            }
        }
        return Array(text.bytes)
    }

    /// Nil if the text is malformed.
    fileprivate static func list(_ text: [UInt8]) -> [Self]? {
        var parser = JSONParser()
        return text.withUnsafeBytes { bytes -> [Self]? in
            do throws(JSONError) {
                guard let elements = try parser.parse(bytes)["snapshots"]?.elements else { return nil }
                let kept = elements.map { Self($0) }
                return kept.contains(nil) ? nil : kept.compactMap { $0 }
            } catch { return nil }
        }
    }

    private init?(_ json: JSONValue) {
        func number(_ name: StaticString) -> UInt64? { json[name]?.int64.flatMap { UInt64(exactly: $0) } }
        guard let name = json["name"]?.string, let bytes = number("bytes"), let first = number("first"),
            let last = number("last"), first <= last
        else { return nil }
        self.init(snapshot: HomeSnapshot(name: name, bytes: bytes), parts: first...last)
    }
}
