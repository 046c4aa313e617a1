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

extension [WebhookPush] {
    /// The pushes of each device in their order; the devices in the order of their first pushes.
    func lanes() -> [[WebhookPush]] {
        var indices: [[String]: Int] = [:]
        var lanes: [[WebhookPush]] = []
        for push in self {
            let index = indices[push.lane] ?? lanes.count
            if index == lanes.count {
                indices[push.lane] = index
                lanes.append([])
            }
            lanes[index].append(push)
        }
        return lanes
    }
}
