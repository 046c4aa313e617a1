import JSON
import PipelineKit

/// The badge of each user, per container and environment.
///
/// A notification with `shouldBadge` raises the badge of every topic of its user, even of a topic that no device has
/// registered yet. So the numbers of two topics differ only if a `badge.set` has set one of them.
struct BadgeCounters {
    /// A user in one environment of a container.
    struct Key: Hashable {
        let bytes: [UInt8]

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// Joins the environment, the container and the user. Container and user are each a length and the decoded
        /// string.
        init(environment: EnvironmentCode, container: JSONValue, user: JSONValue) {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(96)
            bytes.append(environment.rawValue)
            bytes.append(text: container)
            bytes.append(text: user)
            self.bytes = bytes
        }

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    var badges: [Key: Badge] = [:]

    /// Raises the badge of the notification's user.
    ///
    /// - Returns: The new badge.
    mutating func increment(for notification: Notification) -> Badge {
        let key = Key(
            environment: notification.environment, container: notification.container, user: notification.user)
        return badges[key, default: Badge()].raise()
    }

    mutating func set(_ setting: BadgeSetting) throws(Rejection) {
        var badge = badges[setting.key] ?? Badge()
        if let topic = setting.topic {
            guard badge.set(setting.count, of: topic) else { throw .tooManyTopics }
        } else {
            badge.set(setting.count)
        }
        badges[setting.key] = badge.isUnset ? nil : badge
    }
}

extension [UInt8] {
    fileprivate mutating func append(text: JSONValue) {
        text.withUTF8 { utf8 in
            Swift.withUnsafeBytes(of: UInt32(utf8.count).littleEndian) { append(contentsOf: $0) }
            append(contentsOf: utf8)
        }
    }
}

extension Rejection {
    fileprivate static var tooManyTopics: Rejection {
        Rejection(
            code: "badge.topics",
            reason: "\(Badge.topicsMax) topics of the user have badges of their own, and no more are possible: send a "
                + "badge.set without a topic, which gives all topics the same badge again",
            path: "topic")
    }
}
