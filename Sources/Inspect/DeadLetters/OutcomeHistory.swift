import Events
import JSON
import PipelineKit

/// Finds out whether a device got or will get a newer push that replaces a dead letter's push. Reads the outcomes of a
/// deliver stage.
struct OutcomeHistory {
    private struct DeviceSlot: Hashable {
        let slot: Int
        let device: ExactText
    }

    private struct WaitingPush: Hashable {
        let push: UInt64
        let device: ExactText
    }

    /// For each slot, the newest push that was accepted, is waiting or will be redriven, and the
    /// ``UndeliveredPush/order`` of this push.
    private var newest: [DeviceSlot: (order: UInt64, push: UInt64)] = [:]
    /// Pushes with an attempt and no outcome: they wait for another attempt.
    private var waiting: Set<WaitingPush> = []

    init(of log: String, _ pushes: inout PushHistory, upstream: String, _ progress: (UInt64) -> Void) throws {
        try LogScan.events(in: log, from: .epoch) { event in
            progress(UInt64(event.line.count))
            read(event, &pushes, upstream)
        }
        for item in waiting { record(item.push, item.device, pushes) }
    }

    private mutating func read(_ event: LogScan.Event, _ pushes: inout PushHistory, _ upstream: String) {
        let json = event.json
        switch json[.type]?.string ?? "" {
        case EventName.deviceRetired:
            if let device = DeviceKey(json) { pushes.retire(device, at: event.cursor.positions[upstream] ?? .max) }
        case EventName.outcome, EventName.attempt:
            guard let push = json[.push]?.sequence, let device = json[.device]?.exact,
                !pushes.slotUses(of: push).isEmpty
            else { return }
            let item = WaitingPush(push: push, device: device)
            if json[.type]?.equals(EventName.attempt) ?? false {
                _ = waiting.insert(item)
                return
            }
            waiting.remove(item)
            if json[.outcome]?.equals("accepted") ?? false { record(push, device, pushes) }
        default: return
        }
    }

    private mutating func record(_ push: UInt64, _ device: ExactText, _ pushes: PushHistory) {
        for use in pushes.slotUses(of: push) {
            record(push, use.order, in: DeviceSlot(slot: use.slot, device: device))
        }
    }

    private mutating func record(_ push: UInt64, _ order: UInt64, in slot: DeviceSlot) {
        if newest[slot].map({ $0.order < order }) ?? true { newest[slot] = (order, push) }
    }

    /// The newest push that has replaced or will replace a letter's push; nil if there is no such push.
    func successor(of letter: DeadLetter) -> UInt64? {
        guard let push = letter.push else { return nil }
        return successor(of: letter, in: push.collapseSlot)
            ?? (push.hasOnlyBadge ? successor(of: letter, in: push.badgeSlot) : nil)
    }

    /// Marks the badge of the letter's push as outdated if a newer push has set or will set the badge.
    func complete(_ letter: inout DeadLetter) {
        guard var push = letter.push, successor(of: letter, in: push.badgeSlot) != nil else { return }
        push.isBadgeOutdated = true
        letter.content = .push(push)
    }

    private func successor(of letter: DeadLetter, in slot: Int?) -> UInt64? {
        guard let push = letter.push, let slot, let device = letter.device,
            let newest = newest[DeviceSlot(slot: slot, device: device)]
        else { return nil }
        return newest.order > push.order ? newest.push : nil
    }

    /// Records that a letter's push will be redriven, so that older pushes with its collapse ID are not redriven.
    mutating func willRedrive(_ letter: DeadLetter) {
        guard let push = letter.push, let slot = push.collapseSlot, let device = letter.device else { return }
        record(letter.source.sequence, push.order, in: DeviceSlot(slot: slot, device: device))
    }
}
