import CloudKitModel
import Events
import JSON
import PipelineKit

/// What the subscription's owner wants to be told, as saved with the subscription.
///
/// A property that is missing, null, false or empty is not set.
struct NotificationInfo {
    private(set) var body = AlertText()
    private(set) var title = AlertText()
    private(set) var subtitle = AlertText()
    private(set) var actionKey: JSONValue?
    private(set) var launchImage: JSONValue?
    private(set) var sound: JSONValue?
    private(set) var category: JSONValue?
    private(set) var collapseID: JSONValue?
    private(set) var shouldBadge = false
    private(set) var sendsContentAvailable = false
    private(set) var sendsMutableContent = false
    /// The names of fields whose values go into the payload.
    private(set) var desiredKeys: JSONValue?

    init(_ json: JSONValue?) throws(Rejection) {
        guard let json else { return }
        for (key, value) in json.members where !value.isUnset {
            guard let property = NotificationProperty(key) else { continue }
            guard value.kind == property.jsonKind else { throw .wrongKind(of: property) }
            guard value.count <= CloudKitLimits.localizationArgumentsMax else { throw .tooMany(in: property) }
            set(property, value)
        }
    }

    private mutating func set(_ property: NotificationProperty, _ value: JSONValue) {
        switch property {
        case .alertBody: body.literal = value
        case .alertLocalizationKey: body.key = value
        case .alertLocalizationArgs: body.arguments = value
        case .title: title.literal = value
        case .titleLocalizationKey: title.key = value
        case .titleLocalizationArgs: title.arguments = value
        case .subtitle: subtitle.literal = value
        case .subtitleLocalizationKey: subtitle.key = value
        case .subtitleLocalizationArgs: subtitle.arguments = value
        case .alertActionLocalizationKey: actionKey = value
        case .alertLaunchImage: launchImage = value
        case .soundName: sound = value
        case .category: category = value
        case .collapseIDKey: collapseID = value
        case .shouldBadge: shouldBadge = true
        case .shouldSendContentAvailable: sendsContentAvailable = true
        case .shouldSendMutableContent: sendsMutableContent = true
        case .desiredKeys: desiredKeys = value
        case .additionalFields: desiredKeys = desiredKeys ?? value
        }
    }
}

/// One text of an alert.
///
/// A localization key beats the literal text (Apple, CKSubscription.NotificationInfo, for alert and subtitle; we read
/// the title the same way). Arguments belong to a key.
struct AlertText {
    var literal: JSONValue?
    var key: JSONValue?
    var arguments: JSONValue?

    var hasLiteral: Bool { key == nil && literal != nil }
    var hasArguments: Bool { key != nil && arguments != nil }
}

extension NotificationProperty {
    fileprivate var jsonKind: JSONValue.Kind {
        switch kind {
        case .text, .collapseID: .string
        case .flag: .true
        case .arguments, .fieldNames: .array
        }
    }
}

extension Rejection {
    fileprivate static func wrongKind(of property: NotificationProperty) -> Rejection {
        let kind = property.jsonKind == .true ? "boolean" : "\(property.jsonKind)"
        return Rejection(
            code: "notification.kind", reason: "must be a \(kind)", path: "notificationInfo.\(property)")
    }

    fileprivate static func tooMany(in property: NotificationProperty) -> Rejection {
        Rejection(
            code: "notification.arguments", reason: "names at most \(CloudKitLimits.localizationArgumentsMax) fields",
            path: "notificationInfo.\(property)")
    }
}
