import Synchronization
import Time

@testable import EventLog

/// A home in memory, with the rules of a real one: only the host that took a log over last can append to it.
final class MemoryHome: LogHome {
    enum Fault: Sendable {
        /// The host ends before the message is stored.
        case before
        /// The host ends after the message was stored, and does not learn of it.
        case after
    }

    struct State {
        var identity: LogIdentity?
        var messages: [HomeMessage.Content] = []
        /// The position of the first message; earlier ones were trimmed.
        var first: UInt64 = 1
        var owner = 0
        /// The host that opens logs from now on.
        var host = "a"
        var fault: Fault?
        var snapshots: [(snapshot: HomeSnapshot, file: [UInt8])] = []

        var last: UInt64 { first + UInt64(messages.count) - 1 }
    }

    let state = Mutex(State())

    func open(_ log: String, identity: LogIdentity) throws(EventLogError) -> any HomeLog {
        let known = state.withLock { state in
            state.identity = state.identity ?? identity
            return state.identity ?? identity
        }
        return MemoryLog(self, known)
    }

    func find(_ log: String, identity: LogIdentity) throws(EventLogError) -> (any HomeLog)? {
        state.withLock { $0.identity }.map { MemoryLog(self, $0) }
    }

    func snapshots(of log: String, identity: LogIdentity) throws(EventLogError) -> [HomeSnapshot] {
        state.withLock { $0.snapshots.map(\.snapshot) }
    }

    func remove(_ log: String) throws(EventLogError) {
        state.withLock { state in
            (state.identity, state.messages, state.first, state.owner) = (nil, [], 1, 0)
        }
    }

    var delay: HomeDelay? { nil }

    func beacons(of log: String) throws(EventLogError) -> any HomeBeacons {
        throw .unusableHome(log: log, reason: "a home in memory has one host")
    }

    func interrupt() {}
    var isInterrupted: Bool { false }

    /// The batches of all messages.
    func batches() throws -> [ModelBatch] {
        let (messages, identity) = state.withLock { ($0.messages, $0.identity) }
        guard let identity else { return [] }
        return try messages.flatMap { content -> [ModelBatch] in
            guard case .batches(let bytes) = content else { return [] }
            let found = try HomeBatches(bytes, position: 0, of: "matches", identity)
            return found.batches.map { batch in
                ModelBatch(
                    first: batch.fixed.firstSequence,
                    events: bytes[batch.body].split(separator: UInt8(ascii: "\n")).map {
                        String(decoding: $0, as: UTF8.self)
                    }, cursor: batch.cursor, now: batch.fixed.now)
            }
        }
    }

    /// Removes the oldest messages.
    func trim(_ count: Int) {
        state.withLock { state in
            state.messages.removeFirst(count)
            state.first += UInt64(count)
        }
    }
}

private final class MemoryLog: HomeLog {
    let identity: LogIdentity
    let host: String
    private let home: MemoryHome
    private let number = Mutex(0)

    init(_ home: MemoryHome, _ identity: LogIdentity) {
        (self.home, self.identity, host) = (home, identity, home.state.withLock { $0.host })
    }

    func read(
        after position: UInt64, _ take: (HomeMessage) throws(EventLogError) -> Void
    ) throws(EventLogError) -> UInt64 {
        let (first, messages, last) = home.state.withLock { ($0.first, $0.messages, $0.last) }
        guard last >= position, position == 0 || first <= position + 1 else {
            throw .home(log: "matches", reason: "it has messages \(first) to \(last)")
        }
        for (index, content) in messages.enumerated() where first + UInt64(index) > position {
            try take(HomeMessage(first + UInt64(index), content))
        }
        return last
    }

    func takeOver(after end: UInt64) throws(EventLogError) -> UInt64? {
        home.state.withLock { state in
            guard state.last == end else { return nil }
            state.owner += 1
            state.messages.append(.owner(host: host))
            number.withLock { $0 = state.owner }
            return state.last
        }
    }

    func append(_ content: HomeMessage.Content) throws(EventLogError) -> UInt64 {
        let result: Result<UInt64, EventLogError> = home.state.withLock { state in
            guard state.owner == number.withLock({ $0 }) else {
                return .failure(.replaced(log: "matches", reason: "by owner \(state.owner)"))
            }
            let fault = state.fault.take()
            if fault == .before { return .failure(.home(log: "matches", reason: "lost before")) }
            state.messages.append(content)
            if fault == .after { return .failure(.home(log: "matches", reason: "lost after")) }
            return .success(state.last)
        }
        return try result.get()
    }

    func hasOwner(at position: UInt64) throws(EventLogError) -> Bool {
        home.state.withLock { state in
            guard position >= state.first, position <= state.last else { return position < state.first }
            if case .owner = state.messages[Int(position - state.first)] { return true }
            return false
        }
    }

    func trim(
        before sequence: UInt64, _ keep: () throws(EventLogError) -> Void
    ) throws(EventLogError) {
        let (first, messages) = home.state.withLock { ($0.first, $0.messages) }
        let starts = messages.enumerated().compactMap { index, content -> (Int, UInt64)? in
            guard case .batches(let bytes) = content else { return nil }
            return EventLogLimits.firstSequence(ofMessage: bytes).map { (index, $0) }
        }
        let start = starts.first { $0.1 == sequence } ?? starts.last { $0.1 < sequence }
        guard let start, start.0 > 0 else { return }
        try keep()
        home.state.withLock { state in
            let count = Int(first) + start.0 - Int(state.first)
            state.messages.removeFirst(count)
            state.first += UInt64(count)
        }
    }

    func firstSequence() throws(EventLogError) -> UInt64? {
        home.state.withLock { $0.messages }.lazy.compactMap { content -> UInt64? in
            guard case .batches(let bytes) = content else { return nil }
            return EventLogLimits.firstSequence(ofMessage: bytes)
        }.first
    }

    func snapshots() throws(EventLogError) -> [HomeSnapshot] { home.state.withLock { $0.snapshots.map(\.snapshot) } }

    func read(
        _ snapshot: HomeSnapshot, _ take: ([UInt8]) throws(EventLogError) -> Void
    ) throws(EventLogError) {
        guard let kept = home.state.withLock({ $0.snapshots.first { $0.snapshot == snapshot } }) else { return }
        var rest = kept.file[...]
        while !rest.isEmpty {
            try take(Array(rest.prefix(10)))
            rest = rest.dropFirst(10)
        }
    }

    func keep(
        _ snapshot: HomeSnapshot, _ read: @Sendable (_ offset: UInt64, _ count: Int) throws(EventLogError) -> [UInt8]
    ) throws(EventLogError) {
        let file = try read(0, Int(snapshot.bytes))
        home.state.withLock { $0.snapshots = ($0.snapshots + [(snapshot, file)]).suffix(HomeSnapshot.count) }
    }
}
