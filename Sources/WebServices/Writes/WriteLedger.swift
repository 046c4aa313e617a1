/// Follows each write of the gateway from ingest's door to the gateway's store, and says when and how it ended.
///
/// A write is one line at the door with a request ID, which ingest copies to each event that the line makes. A write
/// ends when its events are in the store, or when the door refuses its line. The door's answer also names the last
/// sequence of the changes log. A write that the door accepts but that makes no events ends when the store has applied
/// this sequence. While ingest restarts, the door's answer may be lost. Later the door says which lines it has, and
/// again names the log's last sequence. If the store has applied this sequence and has no events of the write, the
/// write was refused or changed nothing. So it can be sent again without being applied twice.
///
/// | state | event | next state |
/// |---|---|---|
/// | queued | `sent` | at the door |
/// | at the door | `answered`, with a refusal | ended: refused |
/// | at the door | `answered`, without a refusal | waiting for the store, up to a sequence |
/// | at the door | `answersLost` | unknown, up to a sequence |
/// | any except queued | `stored`, with its events | ended: stored |
/// | waiting for the store | `stored` up to the sequence, without events | ended: stored, nothing changed |
/// | unknown | `stored` up to the sequence, without events | queued again |
struct WriteLedger<ID: Hashable & Sendable, StoredEvent: Sendable> {
    /// Why the door refused a line.
    struct Refusal: Hashable, Sendable {
        var code: String
        var path: String
        var reason: String
    }

    /// How a write ended.
    enum End: Sendable {
        /// With the events of the write; empty if the write changed nothing.
        case stored([StoredEvent])
        case refused(Refusal)
    }

    /// The next step of the gateway.
    enum Action: Sendable {
        case end(ID, End)
        case sendAgain(ID)
    }

    private struct Write {
        var id: ID
        /// Whether the door's answer to the line was lost.
        var isUnknown = false
    }

    /// Writes that the door has not answered, by line.
    private var atDoor: [UInt64: Write] = [:]
    /// Writes that wait for the store, in the order of `last`. At the latest when the store has applied the sequence
    /// `last`, the write ends or is sent again.
    private var awaited: [(last: UInt64, write: Write)] = []
    private var open: Set<ID> = []
    private var answered: UInt64
    private var applied: UInt64

    /// - Parameters:
    ///   - answered: The producer's last line that the door had when the gateway started.
    ///   - applied: The last sequence in the store.
    init(answered: UInt64, applied: UInt64) { (self.answered, self.applied) = (answered, applied) }

    /// The number of writes that are at the door or wait for the store.
    var count: Int { open.count }

    /// The write goes to the door as the line with this number. The numbers increase from call to call.
    mutating func sent(_ id: ID, asLine line: UInt64) {
        open.insert(id)
        atDoor[line] = Write(id: id)
    }

    /// The door has accepted or refused every line up to `line`.
    ///
    /// - Parameter last: The changes log's last sequence, including the events of these lines.
    mutating func answered(through line: UInt64, last: UInt64, refusals: [UInt64: Refusal]) -> [Action] {
        var actions: [Action] = []
        settle(through: line) { number, write, ledger in
            if let refusal = refusals[number] {
                ledger.end(write.id, .refused(refusal), &actions)
            } else {
                ledger.awaited.append((last, write))
            }
        }
        return actions + checkAwaited()
    }

    /// The door has every line up to `line`; its answers to some of them were lost.
    mutating func answersLost(through line: UInt64, last: UInt64) -> [Action] {
        settle(through: line) { _, write, ledger in
            ledger.awaited.append((last, Write(id: write.id, isUnknown: true)))
        }
        return checkAwaited()
    }

    /// The store has applied all events up to `sequence`; `events` are those with a request ID.
    mutating func stored(through sequence: UInt64, events: [(id: ID, event: StoredEvent)]) -> [Action] {
        applied = max(applied, sequence)
        var (found, order): ([ID: [StoredEvent]], [ID]) = ([:], [])
        for (id, event) in events where open.contains(id) {
            if found[id] == nil { order.append(id) }
            found[id, default: []].append(event)
        }
        var actions: [Action] = []
        for id in order { end(id, .stored(found[id] ?? []), &actions) }
        return actions + checkAwaited()
    }

    private mutating func settle(through line: UInt64, _ body: (UInt64, Write, inout Self) -> Void) {
        guard line > answered else { return }
        for number in (answered + 1)...line {
            guard let write = atDoor.removeValue(forKey: number), open.contains(write.id) else { continue }
            body(number, write, &self)
        }
        answered = line
    }

    private mutating func checkAwaited() -> [Action] {
        var actions: [Action] = []
        let ready = awaited.prefix { $0.last <= applied }
        guard !ready.isEmpty else { return [] }
        awaited.removeFirst(ready.count)
        for (_, write) in ready where open.contains(write.id) {
            if write.isUnknown {
                open.remove(write.id)
                actions.append(.sendAgain(write.id))
            } else {
                end(write.id, .stored([]), &actions)
            }
        }
        return actions
    }

    private mutating func end(_ id: ID, _ end: End, _ actions: inout [Action]) {
        open.remove(id)
        actions.append(.end(id, end))
    }
}
