import EventLog
import PipelineKit

/// The pushes that transports may have, kept in files beside the log. After a crash the host sends these pushes again,
/// and marks their answers, because such a push may arrive twice.
///
/// The files name the pushes that a transport had when a process died or the transport was closed. After a power cut or
/// damage the files cannot be trusted, and the files of another host are unknown. Then every earlier unfinished push
/// may have been sent.
struct InFlightJournal {
    typealias Entry = InFlightJournalRecord.Entry

    private let files: InFlightJournalFiles
    private let boot: UInt64
    private let sessions: [String: UInt64]
    /// Every push up to this sequence of the upstream's log may have been sent.
    private var horizon: UInt64 = 0
    /// The ``Delivery/ID/number`` of each push that may have been sent by a closed transport, or by a transport that
    /// the device no longer uses.
    private var unknown: Set<UInt64> = []
    /// For each push in flight, the session number of the transport that has the push.
    private var inFlight: [UInt64: UInt64] = [:]
    /// Status queries that no open transport can answer.
    private var unanswered: Set<UInt64> = []

    /// If more pushes than this are unknown when the host starts, ``horizon`` is raised to cover them all.
    private static let unknownMax = 65_536

    /// - Parameters:
    ///   - boot: See ``HostTime/boot``.
    ///   - sessions: The session number of each open transport, by its name.
    ///   - after: The log's last sequence.
    ///   - last: The sequence of the last push in the upstream's log.
    ///   - continuesAnotherHost: Whether another host has written the end of the log, so that its files are unknown.
    ///   - answers: Reads the answers in the log after a sequence.
    init(
        _ files: InFlightJournalFiles, boot: UInt64, sessions: [String: UInt64], after: UInt64, through last: UInt64,
        continuesAnotherHost: Bool = false, answers: (UInt64) throws -> [TransportAnswer]
    ) rethrows {
        (self.files, self.boot, self.sessions) = (files, boot, sessions)
        defer { if continuesAnotherHost { horizon = max(horizon, last) } }
        switch files.read() {
        case nil: break
        case .torn, .foreign: horizon = last
        case .record(let record): try restore(record, after, last, answers)
        }
    }

    private mutating func restore(
        _ record: InFlightJournalRecord, _ after: UInt64, _ last: UInt64,
        _ answers: (UInt64) throws -> [TransportAnswer]
    ) rethrows {
        horizon = record.horizon
        guard record.boot == boot || record.isAtRest, record.after <= after else {
            horizon = max(horizon, last)
            return
        }
        let finished = Set(
            try answers(record.after).lazy.filter { !$0.isUnderWay && $0.reason != Self.answerLost }.map(\.id.number))
        let openSessions = Set(sessions.values)
        for entry in record.entries where !finished.contains(entry.number) {
            if openSessions.contains(entry.session) {
                inFlight[entry.number] = entry.session
            } else {
                unknown.insert(entry.number)
            }
        }
        guard unknown.count > Self.unknownMax else { return }
        (unknown, horizon) = ([], max(horizon, last))
    }

    // MARK: Status queries

    /// The host's own answer to a status query for a push that no open transport has. Nil for a push, and for a status
    /// query that an open transport can answer.
    mutating func answerForClosedTransport(to delivery: Delivery) -> TransportAnswer? {
        guard delivery.isStatusQuery, inFlight[delivery.id.number] != sessions[delivery.transport, default: 0] else {
            return nil
        }
        unanswered.insert(delivery.id.number)
        return TransportAnswer(delivery.id, .deferred, reason: Self.answerLost, attempts: 1)
    }

    /// The reason in the host's own answer: the transport's answer is unknown.
    private static let answerLost = "its answer was lost"

    // MARK: Pushes

    /// Records pushes before they are sent. `after` is the log's last sequence; all earlier answers must be in the log.
    mutating func note(_ deliveries: some Sequence<Delivery>, after: UInt64) throws(EventLogError) {
        var former: [(number: UInt64, session: UInt64?)] = []
        for delivery in deliveries {
            let (number, session) = (delivery.id.number, sessions[delivery.transport] ?? 0)
            let formerSession = inFlight.updateValue(session, forKey: number)
            // A device may move to another transport while the first one still has its push.
            if let formerSession, formerSession != session { unknown.insert(number) }
            former.append((number, formerSession))
        }
        do throws(EventLogError) { try files.write(record(after: after)) } catch {
            for (number, session) in former { inFlight[number] = session }
            throw error
        }
    }

    /// Marks the answers to pushes that may arrive twice. The host appends the answers to the log before it notes
    /// further pushes.
    mutating func mark(_ answers: inout [TransportAnswer]) {
        for index in answers.indices { mark(&answers[index]) }
    }

    private mutating func mark(_ answer: inout TransportAnswer) {
        let number = answer.id.number
        if !answer.isUnderWay { inFlight[number] = nil }
        if !unanswered.isEmpty, unanswered.remove(number) != nil { return }
        if answer.id.push <= horizon { answer.mayRepeat = true }
        if !unknown.isEmpty, unknown.remove(number) != nil { answer.mayRepeat = true }
    }

    // MARK: At rest

    /// Records that no push waits for its first answer. Deferred pushes may still be under way. `after` is the log's
    /// last sequence; all answers must be in the log.
    mutating func noteAtRest(after: UInt64) throws(EventLogError) {
        var record = record(after: after)
        record.isAtRest = true
        try files.write(record)
        try files.synchronize()
    }

    private func record(after: UInt64) -> InFlightJournalRecord {
        var record = InFlightJournalRecord(boot: boot, after: after, horizon: horizon)
        record.entries.reserveCapacity(inFlight.count + unknown.count)
        for (number, session) in inFlight { record.entries.append(Entry(number: number, session: session)) }
        for number in unknown { record.entries.append(Entry(number: number, session: 0)) }
        return record
    }
}
