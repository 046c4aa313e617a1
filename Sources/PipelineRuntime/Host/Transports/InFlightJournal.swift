import EventLog
import PipelineKit

/// Which pushes transports may have: kept beside the log, so that the answers to those that a crash sends again say that
/// they may come twice.
///
/// What is marked was with a transport when a process died or the transport was closed. Where the files cannot tell, after
/// the loss of power or because they are damaged, it is every push that had come by then and is not over.
struct InFlightJournal {
    typealias Entry = InFlightJournalRecord.Entry

    private let files: InFlightJournalFiles
    private let boot: UInt64
    /// The number of each transport that is open, by its name.
    private let lives: [String: UInt64]
    private var horizon: UInt64 = 0
    /// What may have been sent by a transport that is no more.
    private var doubtful: Set<UInt64> = []
    /// What open transports have, and which one has it.
    private var present: [UInt64: UInt64] = [:]
    /// Questions that no transport was asked.
    private var lost: Set<UInt64> = []

    /// More are not kept one by one.
    private static let doubtfulMax = 65_536

    /// - Parameters:
    ///   - boot: See ``HostTime/boot``.
    ///   - lives: The number of each transport that is open, by its name.
    ///   - after: The log's last sequence.
    ///   - last: The last push that there is.
    ///   - answers: The answers that the log holds behind a sequence.
    init(
        _ files: InFlightJournalFiles, boot: UInt64, lives: [String: UInt64], after: UInt64, through last: UInt64,
        answers: (UInt64) throws -> [TransportAnswer]
    ) rethrows {
        (self.files, self.boot, self.lives) = (files, boot, lives)
        switch files.read() {
        case nil: break
        case .torn, .foreign: horizon = last
        case .record(let record): try take(record, after, last, answers)
        }
    }

    private mutating func take(
        _ record: InFlightJournalRecord, _ after: UInt64, _ last: UInt64,
        _ answers: (UInt64) throws -> [TransportAnswer]
    ) rethrows {
        horizon = record.horizon
        guard record.boot == boot || record.isAtRest, record.after <= after else {
            horizon = max(horizon, last)
            return
        }
        let over = Set(
            try answers(record.after).lazy.filter { !$0.isUnderWay && $0.reason != Self.lost }.map(\.id.number))
        let open = Set(lives.values)
        for entry in record.entries where !over.contains(entry.push) {
            if open.contains(entry.life) { present[entry.push] = entry.life } else { doubtful.insert(entry.push) }
        }
        guard doubtful.count > Self.doubtfulMax else { return }
        (doubtful, horizon) = ([], max(horizon, last))
    }

    // MARK: Questions

    /// The answer to a question whose transport is no more; nil where there is one that can give it.
    mutating func lostAnswer(to delivery: Delivery) -> TransportAnswer? {
        guard delivery.isStatusQuery, present[delivery.id.number] != lives[delivery.transport, default: 0] else {
            return nil
        }
        lost.insert(delivery.id.number)
        return TransportAnswer(delivery.id, .deferred, reason: Self.lost, attempts: 1)
    }

    /// What is said of a push whose transport is no more: nothing is known of it, before as after.
    private static let lost = "its answer was lost"

    // MARK: Pushes

    /// To be called before pushes go out, when all earlier answers are on record.
    ///
    /// - Parameter after: The log's last sequence.
    mutating func note(_ deliveries: some Sequence<Delivery>, after: UInt64) throws(EventLogError) {
        var former: [(push: UInt64, life: UInt64?)] = []
        for delivery in deliveries {
            let (number, life) = (delivery.id.number, lives[delivery.transport] ?? 0)
            let present = present.updateValue(life, forKey: number)
            // A device may have come to another transport, while one still has its push.
            if let present, present != life { doubtful.insert(number) }
            former.append((number, present))
        }
        do throws(EventLogError) { try files.write(record(after: after)) } catch {
            for (push, life) in former { present[push] = life }
            throw error
        }
    }

    /// Says of the answers which pushes may come twice. The answers are on record before anything else is noted.
    mutating func mark(_ answers: inout [TransportAnswer]) {
        for index in answers.indices { mark(&answers[index]) }
    }

    private mutating func mark(_ answer: inout TransportAnswer) {
        let number = answer.id.number
        if !answer.isUnderWay { present[number] = nil }
        if !lost.isEmpty, lost.remove(number) != nil { return }
        if answer.id.push <= horizon { answer.mayRepeat = true }
        if !doubtful.isEmpty, doubtful.remove(number) != nil { answer.mayRepeat = true }
    }

    // MARK: Rest

    /// To be called when all answers are on record, and no transport is waited for.
    ///
    /// - Parameter after: The log's last sequence.
    mutating func rest(after: UInt64) throws(EventLogError) {
        var record = record(after: after)
        record.isAtRest = true
        try files.write(record)
        try files.synchronize()
    }

    private func record(after: UInt64) -> InFlightJournalRecord {
        var record = InFlightJournalRecord(boot: boot, after: after, horizon: horizon)
        record.entries.reserveCapacity(present.count + doubtful.count)
        for (push, life) in present { record.entries.append(Entry(push: push, life: life)) }
        for push in doubtful { record.entries.append(Entry(push: push, life: 0)) }
        return record
    }
}
