import Foundation

/// Makes notifications from what a push brought.
///
/// An initializer of a class cannot return a subclass's instance; one of a protocol can.
public protocol RemoteNotification {}

extension RemoteNotification where Self: CKNotification {
    /// Makes the notification that a push's `userInfo` holds; it is of the subclass that fits.
    ///
    /// Nil where there is no `ck` dictionary, or one of a query, zone or database notification that names no database;
    /// and where a subclass is asked for that does not fit.
    ///
    /// - Parameter notificationDictionary: As `JSONSerialization` gives it: `["aps": …, "ck": …]`.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        let payload = Payload(members: notificationDictionary)
        guard let notification = CKNotification.read(payload) as? Self else { return nil }
        self = notification
    }

    /// The same from the payload's JSON. Not in CloudKit.
    ///
    /// Nil also where the bytes are no JSON object.
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
