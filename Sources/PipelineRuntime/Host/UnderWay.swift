import EventLog
import PipelineKit

/// Which pushes transports may have: kept beside the log, so that the answers to those that a crash sends again say that
/// they may come twice.
///
/// What is marked was on its way when a process died or a transport was closed. Where the files cannot tell, after the
/// loss of power or because they are damaged, it is every push that had come by then and is not over.
struct UnderWay {
    typealias Entry = UnderWayRecord.Entry

    private let files: UnderWayFiles
    private let boot: UInt64
    /// The number of each transport that is open, by its name.
    private let lives: [String: UInt64]
    private var horizon: UInt64 = 0
    /// What may have been sent by a transport that is no more.
    private var doubtful: Set<UInt64> = []
    /// What an open transport still has of earlier parts, and which one.
    private var late: [UInt64: UInt64] = [:]
    /// Questions of the part that no transport was asked.
    private var lost: Set<UInt64> = []
    private var after: UInt64
    private var part: [Entry] = []
    private var lateOfPart: [Entry] = []
    /// Whether the files lack what must be in them before the log goes on.
    private(set) var isStale = true

    /// More are not kept one by one.
    private static let doubtfulMax = 65_536

    /// - Parameters:
    ///   - boot: See ``HostTime/boot``.
    ///   - lives: The number of each transport that is open, by its name.
    ///   - after: The log's last sequence.
    ///   - last: The last push that there is.
    init(_ files: UnderWayFiles, boot: UInt64, lives: [String: UInt64], after: UInt64, through last: UInt64) {
        (self.files, self.boot, self.lives, self.after) = (files, boot, lives, after)
        switch files.read() {
        case nil: break
        case .torn, .foreign: horizon = last
        case .record(let record): take(record, last)
        }
    }

    private mutating func take(_ record: UnderWayRecord, _ last: UInt64) {
        horizon = record.horizon
        guard record.boot == boot || record.isAtRest, record.after <= after else {
            horizon = max(horizon, last)
            return
        }
        var left = record.before
        if after > record.after {
            let part = Set(record.part.map(\.push))
            left = left.filter { !part.contains($0.push) } + record.late
        }
        let open = Set(lives.values)
        for entry in left {
            if open.contains(entry.life) { late[entry.push] = entry.life } else { doubtful.insert(entry.push) }
        }
        if after <= record.after { doubt(record.part) }
        guard doubtful.count > Self.doubtfulMax else { return }
        (doubtful, horizon) = ([], max(horizon, last))
    }

    private mutating func doubt(_ part: [Entry]) {
        for entry in part {
            late[entry.push] = nil
            doubtful.insert(entry.push)
        }
    }

    // MARK: Questions

    /// The answer to a question whose transport is no more; nil where there is one that can give it.
    mutating func lostAnswer(to delivery: Delivery) -> TransportAnswer? {
        guard delivery.isQuestion, late[delivery.id.number] != lives[delivery.transport, default: 0] else { return nil }
        lost.insert(delivery.id.number)
        return TransportAnswer(delivery.id, .deferred, reason: "its answer was lost", attempts: 1)
    }

    // MARK: Parts

    /// To be called before a part goes out.
    ///
    /// - Parameter after: The log's last sequence.
    mutating func note(_ deliveries: ArraySlice<Delivery>, after: UInt64) throws(EventLogError) {
        self.after = after
        lateOfPart = []
        part.removeAll(keepingCapacity: true)
        var (name, life) = ("", UInt64(0))
        for delivery in deliveries {
            if delivery.transport != name { (name, life) = (delivery.transport, lives[delivery.transport] ?? 0) }
            part.append(Entry(push: delivery.id.number, life: life))
        }
        if !late.isEmpty { doubtWhatMoves() }
        try write()
    }

    /// A device may have come to another transport, while one still has its push.
    private mutating func doubtWhatMoves() {
        for entry in part {
            guard let life = late[entry.push], life != entry.life else { continue }
            doubt([entry])
        }
    }

    /// Says of the answers to a part which pushes may come twice.
    mutating func mark(_ answers: inout [TransportAnswer]) {
        guard horizon > 0 || !doubtful.isEmpty || !late.isEmpty || answers.contains(where: \.isUnderWay) else {
            return
        }
        for index in answers.indices { mark(&answers[index]) }
    }

    private mutating func mark(_ answer: inout TransportAnswer) {
        if !lost.isEmpty, lost.remove(answer.id.number) != nil { return }
        if answer.id.push <= horizon { answer.mayRepeat = true }
        guard answer.isUnderWay || !doubtful.isEmpty || !late.isEmpty else { return }
        let number = answer.id.number
        if doubtful.remove(number) != nil { answer.mayRepeat = true }
        late[number] = nil
        guard answer.isUnderWay else { return }
        guard let entry = part.first(where: { $0.push == number }) else { return }
        late[number] = entry.life
        lateOfPart.append(entry)
        isStale = true
    }

    // MARK: Writing

    mutating func write() throws(EventLogError) {
        try files.write(record)
        isStale = false
    }

    /// To be called when nothing waits for an answer, and all answers are on record.
    ///
    /// - Parameter after: The log's last sequence.
    mutating func rest(after: UInt64) throws(EventLogError) {
        (part, lateOfPart, self.after) = ([], [], after)
        var record = record
        record.isAtRest = true
        try files.write(record)
        try files.synchronize()
        isStale = true
    }

    private var record: UnderWayRecord {
        var record = UnderWayRecord(boot: boot, after: after, horizon: horizon)
        record.before = late.map { Entry(push: $0.key, life: $0.value) } + doubtful.map { Entry(push: $0, life: 0) }
        (record.part, record.late) = (part, lateOfPart)
        return record
    }
}
