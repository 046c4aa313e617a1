import JSON

/// How many notifications have raised each user's badge, per container and environment.
struct BadgeCounters {
    /// A user of a container's environment.
    struct Key: Hashable {
        let bytes: [UInt8]

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    var counts: [Key: Int] = [:]

    /// The badge that the notification's user sees from now on.
    mutating func increment(for notification: Notification) -> Int {
        raise(&counts[key(of: notification), default: 0])
    }

    private func raise(_ count: inout Int) -> Int {
        count += 1
        return count
    }

    /// Container and user as decoded text, each behind its length.
    private func key(of notification: Notification) -> Key {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(96)
        bytes.append(notification.environment.rawValue)
        for text in [notification.container, notification.user] {
            text.withUTF8 { utf8 in
                withUnsafeBytes(of: UInt32(utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
                bytes.append(contentsOf: utf8)
            }
        }
        return Key(bytes: bytes)
    }
}
