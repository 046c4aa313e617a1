import Foundation

/// Makes a notification from the payload of a push.
///
/// A protocol, because only a protocol's initializer can return an instance of a subclass.
public protocol RemoteNotification {}

extension RemoteNotification where Self: CKNotification {
    /// Makes a notification from the `userInfo` of a push. Its class is the subclass that fits the payload.
    ///
    /// Returns nil without a `ck` dictionary, for a query, zone or database notification without a database, and if the
    /// notification is not an instance of the requested class.
    ///
    /// - Parameter notificationDictionary: The payload as `JSONSerialization` reads it: `["aps": …, "ck": …]`.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        let payload = Payload(members: notificationDictionary)
        guard let notification = CKNotification.read(payload) as? Self else { return nil }
        self = notification
    }

    /// Makes a notification from the payload's JSON. Not in CloudKit.
    ///
    /// Returns nil also if the bytes are not a JSON object.
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
