import Foundation
import JSON
import Synchronization

/// What all subscriptions have. Make one of its subclasses.
///
/// Tasks may share it, but a change by one is seen by all.
@CKIsolation
public class CKSubscription: NSObject, NSCopying, NSSecureCoding {
    /// A subscription's name, unique for a user in a container; 1 to 255 bytes.
    public typealias ID = String

    /// What a subscription watches.
    public enum SubscriptionType: Int, Sendable, BitwiseCopyable {
        case query = 1
        case recordZone = 2
        case database = 3
    }

    public nonisolated let subscriptionID: ID
    public nonisolated let subscriptionType: SubscriptionType
    private nonisolated let info: Mutex<NotificationInfo?>
    private nonisolated let formatArgument = FormatArgument()

    /// What the pushes show, kept as a copy; nil for silent ones.
    public nonisolated var notificationInfo: NotificationInfo? {
        get { info.withLock { $0 } }
        set {
            let copy = newValue.map { NotificationInfo($0.properties) }
            info.withLock { $0 = copy }
        }
    }

    nonisolated init(_ form: SubscriptionForm, as type: SubscriptionType) {
        (subscriptionID, subscriptionType) = (form.subscriptionID, type)
        info = Mutex(form.info)
    }

    public nonisolated class var supportsSecureCoding: Bool { true }

    /// - Note: Where the archive is damaged, the coder is told, and the ID is empty.
    public nonisolated required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder)
        (subscriptionID, subscriptionType) = (form.subscriptionID, form.type)
        info = Mutex(form.info)
    }

    public nonisolated func encode(with coder: NSCoder) { Archive.encode(to: coder, write) }

    public nonisolated func copy(with zone: NSZone? = nil) -> Any { self }

    /// Two subscriptions are equal if they would be saved as the same.
    public nonisolated override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return json.hasSameBytes(as: other.json)
    }

    public nonisolated override var hash: Int {
        var hasher = Hasher()
        hasher.combine(subscriptionType)
        hasher.combine(bytesOf: subscriptionID)
        return hasher.finalize()
    }

    public nonisolated override var description: String { "<\(type(of: self)) \(json)>" }

    /// Writes the members that say what is watched.
    nonisolated func writeWatched(into buffer: inout ByteBuffer) {}
}

extension CKSubscription: CVarArg {
    public nonisolated var _cVarArgEncoding: [Int] { formatArgument.encoding(of: description) }
}

nonisolated extension CKSubscription {
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
        if let notificationInfo {
            buffer.append(",\"notificationInfo\":")
            notificationInfo.properties.write(into: &buffer)
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
