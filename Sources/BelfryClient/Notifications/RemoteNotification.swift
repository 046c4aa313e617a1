import Foundation

/// Makes notifications from a push's payload.
///
/// It is a protocol because only a protocol's initializer can return an instance of a subclass.
public protocol RemoteNotification {}

extension RemoteNotification where Self: CKNotification {
    /// Makes the notification in a push's `userInfo`, as an instance of the class for its kind.
    ///
    /// Nil if the payload has no `ck` dictionary, if its `qry`, `fet` or `met` dictionary has no valid database scope
    /// `dbs`, or if the notification is not of the type `Self`.
    ///
    /// - Parameter notificationDictionary: The payload, `["aps": …, "ck": …]`, as `JSONSerialization` returns it.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        let payload = PayloadDictionary(members: notificationDictionary)
        guard let notification = CKNotification.read(payload) as? Self else { return nil }
        self = notification
    }

    /// Makes the notification in a payload's JSON.
    ///
    /// Nil if the bytes are not a JSON object, or if ``init(fromRemoteNotificationDictionary:)`` returns nil for this
    /// object.
    ///
    /// CloudKit does not have this initializer.
    public init?(fromRemoteNotificationPayload payload: some Sequence<UInt8>) {
        do {
            let json = try JSONSerialization.jsonObject(with: Data(payload))
            guard let members = json as? [AnyHashable: Any] else { return nil }
            self.init(fromRemoteNotificationDictionary: members)
        } catch {
            return nil
        }
    }
}
