import JSON
import PipelineKit

extension SubscriptionIndex {
    /// What a log's event may be, as the host takes it.
    private static let limits = JSONLimits(depthMax: JSONLimits().depthMax + 8)

    /// The subscriptions as they were saved, in that order. In which list each stands is found anew, and may be found
    /// another: it decides how soon a match is found, not which.
    func write(into snapshot: inout SnapshotWriter) {
        let order = savedOrder
        snapshot.reserve(order.reduce(0) { $0 + stored[$1.slot].subscription.text.count + 20 })
        snapshot.write(all: order) { found, snapshot in
            snapshot.write(found.saved)
            snapshot.write(stored[found.slot].subscription.text)
        }
    }

    mutating func read(from snapshot: inout SnapshotReader, _ settings: MatchSettings) throws(SnapshotError) {
        let count = try snapshot.count(bytesEach: 3)
        reserveCapacity(count)
        var parser = JSONParser(limits: Self.limits)
        var last: UInt64 = 0
        for number in 0..<count {
            let saved = try snapshot.number()
            guard saved > last else { throw snapshot.error("a subscription was saved out of its turn") }
            last = saved
            add(try Self.subscription(&snapshot, &parser, settings), at: saved)
            guard self.count == number + 1 else { throw snapshot.error("a subscription is there twice") }
        }
    }

    private static func subscription(
        _ snapshot: inout SnapshotReader, _ parser: inout JSONParser, _ settings: MatchSettings
    ) throws(SnapshotError) -> Subscription {
        do {
            return try SubscriptionReader.subscription(parser.parse(try snapshot.view()), settings)
        } catch let error as SnapshotError {
            throw error
        } catch {
            throw snapshot.error("a subscription does not read: \(error)")
        }
    }

    private var savedOrder: [Found] {
        var order = slots.values.map { Found(saved: stored[$0].saved, slot: $0) }
        order.sort()
        return order
    }
}

// MARK: - State

extension SubscriptionIndex {
    /// One line a subscription, in the order in which they were saved: what names it, and all of it as it was saved.
    func writeState(into lines: inout ByteBuffer) {
        var parser = JSONParser(limits: Self.limits)
        for found in savedOrder { stored[found.slot].writeState(&parser, into: &lines) }
    }
}

extension SubscriptionIndex.Stored {
    fileprivate func writeState(_ parser: inout JSONParser, into lines: inout ByteBuffer) {
        lines.append("{")
        subscription.head.withUnsafeBytes { lines.append($0) }
        if let recordType = subscription.recordType {
            lines.append(",\"recordType\":")
            recordType.withUnsafeBytes { lines.appendJSON(utf8: $0) }
        }
        lines.append(",\"savedAt\":")
        lines.appendJSON(saved)
        lines.append(",\"subscription\":")
        subscription.withBody(&parser) { lines.append($0) }
        lines.append("}\n")
    }
}

extension Subscription {
    /// Calls `body` with the text of its member `subscription`.
    fileprivate func withBody(_ parser: inout JSONParser, _ body: (UnsafeRawBufferPointer) -> Void) {
        text.withUnsafeBytes { text in
            do {
                if let subscription = try parser.parse(text)["subscription"] { body(subscription.raw) }
            } catch {
                preconditionFailure("a subscription's text was read when it was saved")
            }
        }
    }
}
