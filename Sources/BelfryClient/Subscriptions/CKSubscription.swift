import Foundation
import JSON
import Synchronization

/// What all subscriptions have. Make one of its subclasses.
///
/// Tasks may share it, but a change by one is seen by all.
open class CKSubscription: NSObject, NSCopying, NSSecureCoding {
    /// A subscription's name, unique for a user in a container; 1 to 255 bytes.
    public typealias ID = String

    /// What a subscription watches.
    public enum SubscriptionType: Int, Sendable, BitwiseCopyable {
        case query = 1
        case recordZone = 2
        case database = 3
    }

    private let state: Mutex<SubscriptionForm>
    private let formatArgument = FormatArgument()

    /// - Note: Where the archive is damaged, the coder is told, and the ID is empty.
    public required init(coder: NSCoder) { state = Mutex(SubscriptionForm(from: coder)) }

    /// The name under which the subscription is saved.
    open var subscriptionID: ID { form.subscriptionID }
    /// What the subscription watches.
    open var subscriptionType: SubscriptionType { form.type }
    /// What the pushes show, kept as a copy; nil for silent ones.
    open var notificationInfo: NotificationInfo? {
        get { form.info }
        set {
            let copy = newValue?.copy() as? NotificationInfo
            change { $0.info = copy }
        }
    }

    var form: SubscriptionForm { state.withLock { $0 } }

    func change(_ body: @Sendable (inout SubscriptionForm) -> Void) { state.withLock { body(&$0) } }

    open class var supportsSecureCoding: Bool { true }

    open func encode(with coder: NSCoder) { Archive.encode(to: coder, form.write) }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// Two subscriptions are equal if they would be saved as the same.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return form.json.hasSameBytes(as: other.form.json)
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(subscriptionType)
        hasher.combine(bytesOf: subscriptionID)
        return hasher.finalize()
    }

    open override var description: String { "<\(type(of: self)) \(form.json)>" }
}

extension CKSubscription: CVarArg {
    public var _cVarArgEncoding: [Int] { formatArgument.encoding(of: description) }
}
