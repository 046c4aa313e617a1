import CloudKitModel
import Events
import JSON
import PipelineKit

/// A parsed `badge.set` event: the number from which a user's badge continues.
struct BadgeSetting {
    let key: BadgeCounters.Key
    let count: Int
    /// The topic whose badge is set; nil for all topics of the user.
    let topic: [UInt8]?

    init(_ event: JSONValue) throws(Rejection) {
        let environment = try event[.environment].word(
            "environment", "development or production", EnvironmentCode.init)
        key = BadgeCounters.Key(
            environment: environment, container: try event[.container].required(.container, .string),
            user: try event[.user].required(.user, .string))
        topic = try event[.topic].optional(.topic, .string)?.withUTF8 { Array($0) }
        let badge = try event[.badge].required(.badge, .number)
        guard let number = badge.int64, (0...CloudKitLimits.badgeMax).contains(number) else {
            let found = String(decoding: badge.raw.prefix(32), as: UTF8.self)
            throw Rejection(
                code: "badge.range",
                reason: "badge must be a whole number from 0 to \(CloudKitLimits.badgeMax), not \(found)", path: "badge"
            )
        }
        count = Int(number)
    }
}
