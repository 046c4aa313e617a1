import Events
import JSON
import PipelineKit

/// A push, or the notice that a device was retired, with the values that its request needs.
struct WebhookPush: Sendable {
    let delivery: Delivery
    /// The `apns-id` of the push, or the ID of the notice.
    let apnsID: String
    /// Container, environment, user and device. Pushes with the same key are sent one after the other.
    let deviceKey: [String]

    /// Nil if the line is not JSON, has no user, or has no ID. The ID must have only printable ASCII characters and no
    /// space.
    init?(_ delivery: Delivery) {
        let isNotice = delivery.id.retired != nil
        var reader = PushReader()
        let read: (id: String, user: String)?
        do throws(JSONError) {
            read = try reader.read(delivery) { push in
                let id = isNotice ? push.json["id"] : push.apnsID
                let user = isNotice ? push.json["data"]?[.user] : push.user
                return id?.string.flatMap { id in user?.string.map { (id, $0) } }
            }
        } catch { return nil }
        guard let (id, user) = read, !id.isEmpty, id.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
        self.delivery = delivery
        apnsID = id
        deviceKey = [delivery.app?.container ?? "", delivery.app?.environment ?? "", user, delivery.id.device]
    }
}
