import Events
import JSON
import PipelineKit

extension SubscriptionIndex {
    /// Writes the subscriptions in the order of their saves, without their positions in the index. Restored
    /// subscriptions may get other positions, which changes the speed of matching but not the result.
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(all: savedOrder) { found, snapshot in
            snapshot.write(found.savedAt)
            snapshot.write(store.text(found.slot))
        }
    }

    mutating func read(from snapshot: inout SnapshotReader, _ settings: MatchSettings) throws(SnapshotError) {
        let count = try snapshot.count(bytesEach: 3)
        reserveCapacity(count)
        var parser = JSONParser(limits: SubscriptionStore.limits)
        var last: UInt64 = 0
        for number in 0..<count {
            let savedAt = try snapshot.number()
            guard savedAt > last else { throw snapshot.error("a subscription is out of order") }
            last = savedAt
            try readOne(&snapshot, &parser, savedAt, settings)
            guard self.count == number + 1 else { throw snapshot.error("a subscription appears twice") }
        }
    }

    private mutating func readOne(
        _ snapshot: inout SnapshotReader, _ parser: inout JSONParser, _ savedAt: UInt64, _ settings: MatchSettings
    ) throws(SnapshotError) {
        let text = try snapshot.view()
        do {
            try unsafe text.withUnsafeBytes { text in
                try unsafe save(SubscriptionReader.subscription(parser.parse(text), settings), at: savedAt)
            }
        } catch {
            throw snapshot.error("a subscription cannot be read: \(error)")
        }
    }

    var savedOrder: [SavedSlot] {
        var order = store.slots.map { SavedSlot(savedAt: store[$0].savedAt, slot: $0) }
        order.sort()
        return order
    }
}

// MARK: - State

extension SubscriptionIndex {
    /// Writes one line for each subscription, in the order of their saves.
    func writeState(into lines: inout ByteBuffer, _ settings: MatchSettings) {
        for found in savedOrder {
            store.withSubscription(found.slot, settings) { writeState($0, found, into: &lines) }
        }
    }

    private func writeState(_ subscription: Subscription, _ found: SavedSlot, into lines: inout ByteBuffer) {
        lines.append("{")
        writeIdentityAndType(found.slot, into: &lines)
        lines.append(.recordType, subscription.recordType)
        lines.append(",\"savedAt\":")
        lines.appendJSON(found.savedAt)
        lines.append(member: .subscription)
        if let body = subscription.body { unsafe lines.append(body.raw) }
        lines.append("}\n")
    }

    /// Writes the members of a match from `container` to `subscriptionType`. These members are the same in all matches
    /// of the subscription.
    @inline(__always)
    func writeIdentityAndType(_ slot: Int32, into buffer: inout ByteBuffer) {
        let row = store[slot]
        unsafe store.heads[Int(row.head)].text.withUnsafeBytes { unsafe buffer.append($0) }
        buffer.append(member: .user)
        buffer.append("\"")
        unsafe buffer.append(store.user(slot).bytes)
        buffer.append("\"")
        buffer.append(member: .subscriptionID)
        buffer.append("\"")
        unsafe buffer.append(store.id(slot).bytes)
        buffer.append("\"")
        buffer.append(.subscriptionType, word: row.subscriptionType.word)
    }
}
