import Foundation
import JSON

extension CKNotification {
    /// CloudKit's name for the type ``CKNotificationID``.
    public typealias ID = CKNotificationID
}

/// The ID of a notification. Its `description` is the ID that `belfry trace` accepts.
open class CKNotificationID: NSObject, NSCopying, NSSecureCoding {
    private let text: String

    init(_ text: String) { self.text = text }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let text = Archive.decode(from: coder, { $0["notificationID"]?.string }) else { return nil }
        self.text = text
    }

    open func encode(with coder: NSCoder) {
        Archive.encode(to: coder) { buffer in buffer.object { $0.append("notificationID", text) } }
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationID)?.text.hasSameBytes(as: text) ?? false
    }

    open override var hash: Int { text.byteHash }

    open override var description: String { text }
}
