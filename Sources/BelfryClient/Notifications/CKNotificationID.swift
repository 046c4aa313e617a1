import Foundation
import JSON

extension CKNotification {
    public typealias ID = CKNotificationID
}

/// What tells notifications apart; `description` gives it as `belfry trace` takes it.
public final class CKNotificationID: NSObject, NSCopying, NSSecureCoding, Sendable {
    private let text: String

    init(_ text: String) { self.text = text }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let text = Archive.decode(from: coder, { $0["notificationID"]?.string }) else { return nil }
        self.init(text)
    }

    public func encode(with coder: NSCoder) {
        Archive.encode(to: coder) { buffer in
            buffer.append("{\"notificationID\":")
            buffer.appendJSON(text)
            buffer.append("}")
        }
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationID)?.text.hasSameBytes(as: text) ?? false
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: text)
        return hasher.finalize()
    }

    public override var description: String { text }
}
