import JSON
import PipelineKit

/// A push and what its request needs to know of it.
struct WebhookPush: Sendable {
    let delivery: Delivery
    let apnsID: String
    /// User and device: whose pushes keep their order.
    let lane: [String]

    /// Nil when the line is no push.
    init?(_ delivery: Delivery) {
        var parser = JSONParser()
        let read: (id: String, user: String)? = delivery.line.withUnsafeBytes { line in
            do throws(JSONError) {
                let push = try parser.parse(line)
                guard let id = push["headers"]?["apns-id"]?.string, let user = push["user"]?.string else { return nil }
                return (id, user)
            } catch {
                return nil
            }
        }
        guard let read else { return nil }
        self.delivery = delivery
        apnsID = read.id
        lane = [read.user, delivery.id.device]
    }
}
