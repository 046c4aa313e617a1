import CloudKitModel
import Events
import JSON
import PipelineKit

/// The `notificationInfo` of a subscription. A property that is missing, null, false or empty is not set.
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
    /// The names of the fields whose values go into the payload.
    private(set) var desiredKeys: JSONValue?

    init(_ json: JSONValue?) throws(Rejection) {
        guard let json else { return }
        for (key, value) in json.members where !value.isUnset {
            guard let property = NotificationProperty(key) else { continue }
            guard value.kind == property.jsonKind else { throw .wrongKind(of: property, value) }
            guard value.count <= CloudKitLimits.localizationArgumentsMax else { throw .tooMany(in: property, value) }
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
/// A localization key takes precedence over the literal text (Apple, CKSubscription.NotificationInfo, for alert and
/// subtitle; Belfry treats the title in the same way). Arguments count only with a key.
struct AlertText {
    var literal: JSONValue?
    var key: JSONValue?
    var arguments: JSONValue?

    var usesLiteral: Bool { key == nil && literal != nil }
    var usesArguments: Bool { key != nil && arguments != nil }
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
    fileprivate static func wrongKind(of property: NotificationProperty, _ value: JSONValue) -> Rejection {
        let kind = property.jsonKind == .true ? "boolean" : "\(property.jsonKind)"
        return Rejection(
            code: "notification.kind", reason: "\(property) must be of type \(kind), not \(value.kindName)",
            path: "notificationInfo.\(property)")
    }

    fileprivate static func tooMany(in property: NotificationProperty, _ value: JSONValue) -> Rejection {
        let max = CloudKitLimits.localizationArgumentsMax
        return Rejection(
            code: "notification.arguments",
            reason: "\(property) has \(value.count) fields, and at most \(max) are allowed",
            path: "notificationInfo.\(property)")
    }
}

// MARK: - The aps dictionary

extension PayloadWriter {
    /// Writes the `aps` dictionary. A push without visible parts is a background push, which APNs accepts only with
    /// `content-available`.
    ///
    /// - Returns: Whether the record has a value that should be an argument but has a type that arguments cannot have.
    func writeAPS(_ kept: PayloadParts, _ badge: Int, into buffer: inout ByteBuffer) -> Bool {
        guard kept.isVisible else {
            buffer.append("{\"content-available\":1}")
            return false
        }
        var leavesOutArgument = false
        buffer.append(byte: UInt8(ascii: "{"))
        if !kept.isDisjoint(with: .alert) {
            buffer.append(member: "alert")
            leavesOutArgument = writeAlert(kept.intersection(.alert), into: &buffer)
        }
        if kept.contains(.badge) { buffer.append("badge", number: badge) }
        if kept.contains(.category) { buffer.append("category", text: info.category) }
        if kept.contains(.contentAvailable) { buffer.append("content-available", number: 1) }
        if kept.contains(.mutableContent) { buffer.append("mutable-content", number: 1) }
        if kept.contains(.sound) { buffer.append("sound", text: info.sound) }
        buffer.append(byte: UInt8(ascii: "}"))
        return leavesOutArgument
    }

    /// Writes the alert: an object, or a plain string if the alert consists only of a body.
    private func writeAlert(_ kept: PayloadParts, into buffer: inout ByteBuffer) -> Bool {
        if kept == .body, let body = info.body.literal {
            buffer.append(text: body)
            return false
        }
        var leavesOutArgument = false
        buffer.append(byte: UInt8(ascii: "{"))
        if kept.contains(.actionKey) { buffer.append("action-loc-key", text: info.actionKey) }
        if kept.contains(.body) { buffer.append("body", text: info.body.literal) }
        if kept.contains(.launchImage) { buffer.append("launch-image", text: info.launchImage) }
        if kept.contains(.bodyArguments) { write("loc-args", info.body.arguments, &leavesOutArgument, &buffer) }
        if kept.contains(.bodyKey) { buffer.append("loc-key", text: info.body.key) }
        if kept.contains(.subtitle) { buffer.append("subtitle", text: info.subtitle.literal) }
        if kept.contains(.subtitleArguments) {
            write("subtitle-loc-args", info.subtitle.arguments, &leavesOutArgument, &buffer)
        }
        if kept.contains(.subtitleKey) { buffer.append("subtitle-loc-key", text: info.subtitle.key) }
        if kept.contains(.title) { buffer.append("title", text: info.title.literal) }
        if kept.contains(.titleArguments) {
            write("title-loc-args", info.title.arguments, &leavesOutArgument, &buffer)
        }
        if kept.contains(.titleKey) { buffer.append("title-loc-key", text: info.title.key) }
        buffer.append(byte: UInt8(ascii: "}"))
        return leavesOutArgument
    }

    /// Writes the values of the named fields as strings, the only type that APNs allows in `loc-args`. An empty string
    /// stands for a missing value and for a value that cannot be an argument, so that `%3$@` is still the third
    /// argument.
    ///
    /// - Parameter leavesOutArgument: Set to true if the record has a value that cannot be an argument.
    private func write(
        _ key: StaticString, _ names: JSONValue?, _ leavesOutArgument: inout Bool, _ buffer: inout ByteBuffer
    ) {
        guard let names else { return }
        buffer.append(member: key)
        buffer.append(byte: UInt8(ascii: "["))
        for name in names.elements {
            buffer.appendSeparator()
            if let value = FieldValue(named: name, in: notification.fields), value.isArgument {
                value.writeArgument(into: &buffer)
            } else {
                buffer.append("\"\"")
                leavesOutArgument = leavesOutArgument || FieldValue.exists(name, in: notification.fields)
            }
        }
        buffer.append(byte: UInt8(ascii: "]"))
    }
}
