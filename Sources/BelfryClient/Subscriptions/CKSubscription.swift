import Foundation
import JSON

/// What all subscriptions have. Make one of its subclasses.
///
/// A subscription is changed where it was made: unlike CloudKit's, it is not `Sendable`.
public class CKSubscription: NSObject, NSCopying, NSSecureCoding {
    /// A subscription's name, unique for a user in a container; 1 to 255 bytes.
    public typealias ID = String

    /// What a subscription watches.
    public enum SubscriptionType: Int, Sendable {
        case query = 1
        case recordZone = 2
        case database = 3
    }

    public let subscriptionID: ID
    public let subscriptionType: SubscriptionType
    private var info: NotificationInfo?

    /// What the pushes show, kept as a copy; nil for silent ones.
    public var notificationInfo: NotificationInfo? {
        get { info }
        set { info = newValue.map(NotificationInfo.init(copying:)) }
    }

    init(_ form: SubscriptionForm, as type: SubscriptionType) {
        (subscriptionID, subscriptionType, info) = (form.subscriptionID, type, form.info)
    }

    public class var supportsSecureCoding: Bool { true }

    /// - Note: Where the archive is damaged, the coder is told, and the ID is empty.
    public required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder)
        (subscriptionID, subscriptionType, info) = (form.subscriptionID, form.type, form.info)
    }

    public func encode(with coder: NSCoder) { Archive.encode(to: coder, write) }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Two subscriptions are equal if they would be saved as the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return json.hasSameBytes(as: other.json)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(subscriptionType)
        hasher.combine(bytesOf: subscriptionID)
        return hasher.finalize()
    }

    public override var description: String { "<\(type(of: self)) \(json)>" }

    /// Writes the members that say what is watched.
    func writeWatched(into buffer: inout ByteBuffer) {}
}

extension CKSubscription {
    /// The subscription dictionary of CloudKit Web Services.
    var json: String {
        var buffer = ByteBuffer()
        write(into: &buffer)
        return buffer.text
    }

    func write(into buffer: inout ByteBuffer) {
        buffer.append("{\"subscriptionID\":")
        buffer.appendJSON(subscriptionID)
        buffer.append(",\"subscriptionType\":\"")
        buffer.append(subscriptionType.word)
        buffer.append("\"")
        writeWatched(into: &buffer)
        if let info {
            buffer.append(",\"notificationInfo\":")
            info.write(into: &buffer)
        }
        buffer.append("}")
    }
}

extension CKSubscription.SubscriptionType {
    var word: StaticString {
        switch self {
        case .query: "query"
        case .recordZone: "zone"
        case .database: "database"
        }
    }

    init?(word: JSONValue?) {
        switch word?.string {
        case "query": self = .query
        case "zone": self = .recordZone
        case "database": self = .database
        default: return nil
        }
    }
}

extension ByteBuffer {
    /// Appends `,"key":"text"`, if there is a text.
    mutating func append(member key: StaticString, _ text: String?) {
        guard let text else { return }
        append(",\"")
        append(key)
        append("\":")
        appendJSON(text)
    }
}
