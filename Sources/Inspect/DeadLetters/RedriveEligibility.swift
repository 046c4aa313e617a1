import Events
import PipelineKit
import Time

/// Why a letter need not be redriven any more.
package enum Obsolescence: String, CaseIterable {
    case redriven, expired, superseded
    case registeredAnew = "device.registered_anew"
    case replaced = "device.replaced"
    case retired = "device.retired"
    case unregistered = "device.unregistered"

    /// Whether a redrive of it would come to anything.
    package static let includable: [Obsolescence] = [.redriven, .expired, .superseded, .registeredAnew]

    /// In one sentence; the manual's page on codes lists them.
    var meaning: String {
        switch self {
        case .redriven:
            "It was redriven already. If the redriven push failed too, that failure is a dead letter of its own."
        case .expired: "Its `apns-expiration` has passed: included, it goes out with 0, for one attempt."
        case .superseded:
            "A newer push of its collapse ID got through, waits or is redriven; or a newer command about the same came."
        case .registeredAnew: "The device has registered with another token, topic or transport since."
        case .replaced: "Another device has registered with its token since."
        case .retired: "The device was retired: its token is no longer valid."
        case .unregistered: "The device was unregistered."
        }
    }
}

/// A letter, and whether it may be redriven.
package struct JudgedLetter: Sendable {
    enum Verdict: Sendable {
        case redrivable
        /// - Parameter by: What took its place, or redrove it.
        case obsolete(Obsolescence, by: EventPlace?)
        /// Never was.
        case impossible(String)
    }

    package var letter: Letter
    var verdict: Verdict

    var isRedrivable: Bool { if case .redrivable = verdict { true } else { false } }
}

/// Says of letters whether they may be redriven.
package struct RedriveEligibility {
    /// What has expired, has by then.
    let now: Instant
    /// What is not taken for obsolete.
    private let included: Set<Obsolescence>
    /// The name of the source's log.
    var source = LogKind.changes.rawValue
    /// The transports that there are, by the names of deliver stages; none where the pipeline file is not known.
    var transports: [String: Set<String>] = [:]

    package init(now: Instant, included: Set<Obsolescence> = []) { (self.now, self.included) = (now, included) }

    /// - Parameter outcomes: By the names of deliver stages.
    func judged(_ letters: [Letter], _ outcomes: inout [String: OutcomeHistory]) -> [JudgedLetter] {
        var things: [CommandSubject: EventPlace] = [:]
        var judged = letters.map { JudgedLetter(letter: $0, verdict: .redrivable) }
        for index in byAge(letters).reversed() {
            let letter = letters[index]
            let verdict = verdict(letter, outcomes[letter.stage], things)
            judged[index].verdict = verdict
            guard case .redrivable = verdict else { continue }
            outcomes[letter.stage]?.expect(letter)
            if case .event(let event) = letter.content, let thing = event.thing { things[thing] = letter.place }
        }
        return judged
    }

    /// The oldest words first.
    private func byAge(_ letters: [Letter]) -> [Int] {
        letters.indices.sorted { left, right in
            let (one, other) = (letters[left].past?.order ?? 0, letters[right].past?.order ?? 0)
            return one == other ? left < right : one < other
        }
    }

    private func verdict(
        _ letter: Letter, _ outcomes: OutcomeHistory?, _ things: [CommandSubject: EventPlace]
    ) -> JudgedLetter.Verdict {
        if let redriven = letter.redriven, counts(.redriven) {
            return .obsolete(.redriven, by: EventPlace(log: source, sequence: redriven))
        }
        switch letter.content {
        case .push(nil): return .impossible(Self.goneReason(letter))
        case .push(let push?): return verdict(letter, push, outcomes)
        case .event(let event): return verdict(letter, event, things)
        }
    }

    private static func goneReason(_ letter: Letter) -> String {
        letter.subject.sequence == 0
            ? "its outcome names no push"
            : "\(letter.subject) is not there: retention removed it, or its log is not there"
    }

    private func verdict(
        _ letter: Letter, _ push: PastPush, _ outcomes: OutcomeHistory?
    ) -> JudgedLetter.Verdict {
        if letter.device == nil { return .impossible("its outcome names no device") }
        if let gone = gone(push.state) { return .obsolete(gone, by: nil) }
        if case .registered = push.state, let names = transports[letter.stage], let name = letter.transport,
            !names.contains(name)
        {
            return .impossible("\(letter.stage) has no transport \(name): add it to the pipeline file")
        }
        if let end = push.expiresAt, end <= now, counts(.expired) { return .obsolete(.expired, by: nil) }
        if let newer = outcomes?.successor(of: letter), counts(.superseded) {
            return .obsolete(.superseded, by: EventPlace(log: letter.subject.log, sequence: newer))
        }
        return .redrivable
    }

    private func gone(_ state: DeviceState) -> Obsolescence? {
        switch state {
        case .registered: nil
        case .registeredAnew: counts(.registeredAnew) ? .registeredAnew : nil
        case .unregistered: .unregistered
        case .retired: .retired
        case .replaced: .replaced
        }
    }

    private func verdict(
        _ letter: Letter, _ event: PastEvent, _ things: [CommandSubject: EventPlace]
    ) -> JudgedLetter.Verdict {
        guard let thing = event.thing else { return .impossible(Self.reason(event.type)) }
        guard counts(.superseded) else { return .redrivable }
        if let newest = event.newest, newest.fingerprint != event.fingerprint {
            return .obsolete(.superseded, by: EventPlace(log: source, sequence: newest.sequence))
        }
        return things[thing].map { .obsolete(.superseded, by: $0) } ?? .redrivable
    }

    private static func reason(_ type: String) -> String {
        switch type {
        case "not JSON": "its event is no JSON object"
        case EventName.match, EventName.notification, EventName.push:
            "a \(type) is made by a stage, and ingest takes none: redrive what it came of"
        case EventName.pushRedrive: "it is a redrive itself: redrive the push that it names"
        case "no type": "its event has no type"
        default: "ingest takes no \(type)"
        }
    }

    private func counts(_ why: Obsolescence) -> Bool { !included.contains(why) }
}
