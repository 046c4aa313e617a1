import Events
import PipelineKit
import Time

/// Why a dead letter need not be redriven.
package enum Obsolescence: String, CaseIterable {
    case redriven, expired, superseded
    case registeredAnew = "device.registered_anew"
    case replaced = "device.replaced"
    case retired = "device.retired"
    case unregistered = "device.unregistered"

    /// The reasons that `--include` can override. The other reasons mean that the push cannot reach its device.
    package static let includable: [Obsolescence] = [.redriven, .expired, .superseded, .registeredAnew]

    /// An explanation for an operator. The manual's page on codes lists all these explanations.
    var meaning: String {
        switch self {
        case .redriven:
            "The dead letter was redriven before. If that failed too, the failure is a dead letter of its own."
        case .expired:
            "The push's `apns-expiration` has passed. If you include the push, APNs gets it once, with expiration 0."
        case .superseded:
            "For a push: a newer push with the same collapse ID was accepted, is waiting or will be redriven. "
                + "For a push with only a badge: a newer push with a badge was accepted or is waiting. "
                + "For a command: there is a newer command for the same record, subscription, device or badge."
        case .registeredAnew: "The device has since registered with another token, topic or transport."
        case .replaced: "Another device has since registered with the device's token."
        case .retired: "The device was retired: its token is no longer valid."
        case .unregistered: "The device was unregistered."
        }
    }
}

/// A dead letter, and whether it can be redriven.
package struct RedriveCandidate: Sendable {
    enum Verdict: Sendable {
        case redrivable
        /// The letter need not be redriven.
        ///
        /// - Parameter by: The event that replaced or redrove the letter; nil if there is no such event.
        case obsolete(Obsolescence, by: EventPlace?)
        case impossible(_ reason: String)
    }

    package var letter: DeadLetter
    var verdict: Verdict

    var isRedrivable: Bool { if case .redrivable = verdict { true } else { false } }
}

/// Decides which dead letters can be redriven.
package struct RedriveEligibility {
    let now: Instant
    private let included: Set<Obsolescence>
    /// The log of changes, which contains redrives and newer commands.
    var changesLog = LogKind.changes.rawValue
    /// Each deliver stage's transports; empty if no pipeline file was given.
    var transports: [String: Set<String>] = [:]

    package init(now: Instant, included: Set<Obsolescence> = []) { (self.now, self.included) = (now, included) }

    /// Whether a letter stays redrivable after it was redriven.
    var includesRedriven: Bool { !excludes(.redriven) }

    func candidates(_ letters: [DeadLetter], _ outcomes: inout [String: OutcomeHistory]) -> [RedriveCandidate] {
        var newest: [CommandSubject: EventPlace] = [:]
        var candidates = letters.map { RedriveCandidate(letter: $0, verdict: .redrivable) }
        for index in byAge(letters).reversed() {
            let letter = letters[index]
            let verdict = verdict(letter, outcomes[letter.stage], newest)
            candidates[index].verdict = verdict
            guard case .redrivable = verdict else { continue }
            outcomes[letter.stage]?.willRedrive(letter)
            if let subject = letter.rejectedEvent?.subject { newest[subject] = letter.place }
        }
        return candidates
    }

    /// The letters' indices: first the letters without a push, then the pushes from the oldest to the newest.
    private func byAge(_ letters: [DeadLetter]) -> [Int] {
        letters.indices.sorted { left, right in
            let (one, other) = (letters[left].push?.order ?? 0, letters[right].push?.order ?? 0)
            return one == other ? left < right : one < other
        }
    }

    private func verdict(
        _ letter: DeadLetter, _ outcomes: OutcomeHistory?, _ newest: [CommandSubject: EventPlace]
    ) -> RedriveCandidate.Verdict {
        if let redrive = letter.newestRedrive, excludes(.redriven) {
            return .obsolete(.redriven, by: EventPlace(log: changesLog, sequence: redrive))
        }
        switch letter.content {
        case .push(nil) where letter.source.sequence == 0: return .impossible("its outcome names no push")
        case .push(nil):
            return .impossible("\(letter.source) is missing: retention removed it, or its whole log is missing")
        case .push(let push?): return verdict(letter, push, outcomes)
        case .event(let event): return verdict(event, newest)
        }
    }

    private func verdict(
        _ letter: DeadLetter, _ push: UndeliveredPush, _ outcomes: OutcomeHistory?
    ) -> RedriveCandidate.Verdict {
        if letter.device == nil { return .impossible("its outcome names no device") }
        if let reason = obsolescence(of: push.state) { return .obsolete(reason, by: nil) }
        if case .registered = push.state, let names = transports[letter.stage], let name = letter.transport,
            !names.contains(name)
        {
            return .impossible("\(letter.stage) has no transport \(name): add it to the pipeline file")
        }
        if let end = push.expiresAt, end <= now, excludes(.expired) { return .obsolete(.expired, by: nil) }
        if let newer = outcomes?.successor(of: letter), excludes(.superseded) {
            return .obsolete(.superseded, by: EventPlace(log: letter.source.log, sequence: newer))
        }
        return .redrivable
    }

    private func obsolescence(of state: DeviceState) -> Obsolescence? {
        switch state {
        case .registered: nil
        case .registeredAnew: excludes(.registeredAnew) ? .registeredAnew : nil
        case .unregistered: .unregistered
        case .retired: .retired
        case .replaced: .replaced
        }
    }

    private func verdict(
        _ event: RejectedEvent, _ newest: [CommandSubject: EventPlace]
    ) -> RedriveCandidate.Verdict {
        guard let subject = event.subject else { return .impossible(Self.reason(event.type)) }
        guard excludes(.superseded) else { return .redrivable }
        if let newest = event.newest, newest.fingerprint != event.fingerprint {
            return .obsolete(.superseded, by: EventPlace(log: changesLog, sequence: newest.sequence))
        }
        return newest[subject].map { .obsolete(.superseded, by: $0) } ?? .redrivable
    }

    private static func reason(_ type: String) -> String {
        switch type {
        case "not JSON": "its event is not a JSON object"
        case EventName.match, EventName.notification, EventName.push:
            "only a stage makes a \(type): send again the change that led to it"
        case EventName.pushRedrive: "it is a redrive itself: redrive the original push"
        case "no type": "its event has no type"
        default: "its event (\(type)) is not a command about a record, subscription, device or badge"
        }
    }

    private func excludes(_ why: Obsolescence) -> Bool { !included.contains(why) }
}
