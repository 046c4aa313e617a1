import Events
import JSON
import PipelineKit

/// What the outcomes tell beside the letters themselves: which newer pushes got through or wait, and which devices were
/// retired.
struct OutcomeHistory {
    private struct Place: Hashable {
        let word: Int
        let device: ExactText
    }

    private struct Waiting: Hashable {
        let push: UInt64
        let device: ExactText
    }

    /// The newest that a device has, or will have, of what newer pushes take the place of: its order, and the push.
    private var newest: [Place: (order: UInt64, push: UInt64)] = [:]
    private var waiting: Set<Waiting> = []

    /// - Parameter pushes: Is told of the devices that were retired.
    init(of log: String, _ pushes: inout PushHistory, upstream: String, _ progress: (UInt64) -> Void) throws {
        try LogScan.events(in: log, from: .epoch) { event in
            progress(UInt64(event.line.count))
            take(event, &pushes, upstream)
        }
        for item in waiting { note(item.push, item.device, pushes) }
    }

    private mutating func take(_ event: LogScan.Event, _ pushes: inout PushHistory, _ upstream: String) {
        let json = event.json
        switch json[.type]?.string ?? "" {
        case EventName.deviceRetired:
            guard let user = UserKey(json), let device = json[.device]?.exact else { return }
            pushes.retire(DeviceKey(user: user, device: device), at: event.cursor.positions[upstream] ?? .max)
        case EventName.outcome, EventName.attempt:
            guard let push = json[.push]?.sequence, let device = json[.device]?.exact, !pushes.newer(push).isEmpty
            else { return }
            let item = Waiting(push: push, device: device)
            if json[.type]?.equals(EventName.attempt) ?? false {
                _ = waiting.insert(item)
                return
            }
            waiting.remove(item)
            if json[.outcome]?.equals("accepted") ?? false { note(push, device, pushes) }
        default: return
        }
    }

    private mutating func note(_ push: UInt64, _ device: ExactText, _ pushes: PushHistory) {
        for newer in pushes.newer(push) { note(newer.order, push, at: Place(word: newer.word, device: device)) }
    }

    private mutating func note(_ order: UInt64, _ push: UInt64, at place: Place) {
        if newest[place].map({ $0.order < order }) ?? true { newest[place] = (order, push) }
    }

    /// The push that took the place of the letter's; nil where none did.
    func successor(of letter: Letter) -> UInt64? {
        guard let past = letter.past else { return nil }
        return successor(of: letter, past.collapse) ?? (past.isBadgeAlone ? successor(of: letter, past.badge) : nil)
    }

    /// Adds whether a newer push has set a letter's badge.
    func complete(_ letter: inout Letter) {
        guard var push = letter.past, successor(of: letter, push.badge) != nil else { return }
        push.isBadgeOld = true
        letter.content = .push(push)
    }

    private func successor(of letter: Letter, _ word: Int?) -> UInt64? {
        guard let past = letter.past, let place = Self.place(of: letter, word), let newest = newest[place] else {
            return nil
        }
        return newest.order > past.order ? newest.push : nil
    }

    /// Takes note that the letter will be redriven.
    mutating func expect(_ letter: Letter) {
        guard let past = letter.past, let place = Self.place(of: letter, past.collapse) else { return }
        note(past.order, letter.subject.sequence, at: place)
    }

    private static func place(of letter: Letter, _ word: Int?) -> Place? {
        guard let word, let device = letter.device else { return nil }
        return Place(word: word, device: device)
    }
}
