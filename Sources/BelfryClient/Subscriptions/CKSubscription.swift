import Foundation
import JSON
import Synchronization

/// The base class of subscriptions. Create an instance of one of its subclasses.
///
/// Tasks may share a subscription. When one task changes it, all tasks see the change.
open class CKSubscription: NSObject, NSCopying, NSSecureCoding {
    /// A subscription's ID: 1 to 255 bytes, unique for a user in a container and environment.
    public typealias ID = String

    /// What a subscription watches.
    public enum SubscriptionType: Int, Sendable, BitwiseCopyable {
        case query = 1
        case recordZone = 2
        case database = 3
    }

    private let state: Mutex<SubscriptionForm>
    private let formatArgument = FormatArgument()

    /// - Note: From a damaged archive, this makes a subscription with an empty ID, and the coder reports an error.
    public required init(coder: NSCoder) { state = Mutex(SubscriptionForm(from: coder)) }

    /// The ID under which the subscription is saved.
    open var subscriptionID: ID { form.subscriptionID }
    /// What the subscription watches.
    open var subscriptionType: SubscriptionType { form.type }
    /// What the pushes show; nil for silent pushes. The subscription keeps a copy.
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

    /// Two subscriptions are equal if they would be saved as the same JSON.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return form.json.hasSameBytes(as: other.form.json)
    }

    open override var hash: Int { subscriptionID.byteHash }

    open override var description: String { "<\(type(of: self)) \(form.json)>" }
}

extension CKSubscription: CVarArg {
    public var _cVarArgEncoding: [Int] { formatArgument.encoding(of: description) }
}
