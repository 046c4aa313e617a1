import Foundation
import JSON

extension CKNotification {
    /// The name by which an app's code knows the type.
    public typealias ID = CKNotificationID
}

/// What tells notifications apart; `description` gives it as `belfry trace` takes it.
open class CKNotificationID: NSObject, NSCopying, NSSecureCoding {
    private let text: String

    init(_ text: String) { self.text = text }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let text = Archive.decode(from: coder, { $0["notificationID"]?.string }) else { return nil }
        self.text = text
    }

    open func encode(with coder: NSCoder) {
        Archive.encode(to: coder) { buffer in
            buffer.append("{")
            buffer.append("notificationID", text)
            buffer.append("}")
        }
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationID)?.text.hasSameBytes(as: text) ?? false
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: text)
        return hasher.finalize()
    }

    open override var description: String { text }
}
