import JSON
import PipelineKit

/// How many notifications have raised each user's badge, per container, environment and topic.
///
/// A notification raises the badges of all topics of its user, also of those that no device has registered yet; so
/// topics differ only where one was set by itself.
struct BadgeCounters {
    /// A user of a container's environment.
    struct Key: Hashable {
        let bytes: [UInt8]

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// Container and user as decoded text, each behind its length.
        init(environment: ContainerEnvironment, container: JSONValue, user: JSONValue) {
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

    /// The badge that the notification's user sees from now on.
    mutating func increment(for notification: Notification) -> Badge {
        let key = Key(
            environment: notification.environment, container: notification.container, user: notification.user)
        return raise(&badges[key, default: Badge()])
    }

    private func raise(_ badge: inout Badge) -> Badge {
        badge.raise()
        return badge
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
            reason: "\(Badge.topicsMax) topics of the user have badges of their own, the most there may be: set the "
                + "badge without a topic, and they have one again",
            path: "topic")
    }
}
