import JSON
import PipelineKit

/// A push, or the notice that a device was retired, and what its request needs to know of it.
struct WebhookPush: Sendable {
    let delivery: Delivery
    /// The push's `apns-id`, or the notice's own.
    let apnsID: String
    /// User and device: whose pushes keep their order.
    let lane: [String]

    /// Nil when the line is no push.
    init?(_ delivery: Delivery) {
        var parser = JSONParser()
        let read: (id: String, user: String)? = delivery.line.withUnsafeBytes { line in
            do throws(JSONError) {
                return WebhookPush.read(try parser.parse(line), isNotice: delivery.id.retired != nil)
            } catch {
                return nil
            }
        }
        guard let read else { return nil }
        self.delivery = delivery
        apnsID = read.id
        lane = [read.user, delivery.id.device]
    }

    private static func read(_ json: JSONValue, isNotice: Bool) -> (id: String, user: String)? {
        let id = isNotice ? json["id"] : json["headers"]?["apns-id"]
        guard let id = id?.string, let user = (isNotice ? json["data"] : json)?["user"]?.string else { return nil }
        return (id, user)
    }
}
