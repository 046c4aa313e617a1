import Events
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
        let read: Fields? = delivery.line.withUnsafeBytes { line in
            do throws(JSONError) {
                return Fields(try parser.parse(line), isNotice: delivery.id.retired != nil)
            } catch {
                return nil
            }
        }
        guard let read else { return nil }
        self.delivery = delivery
        apnsID = read.id
        lane = [read.user, delivery.id.device]
    }

    private struct Fields {
        let id: String
        let user: String

        init?(_ json: JSONValue, isNotice: Bool) {
            let id = isNotice ? json["id"] : json[.headers]?[.apnsID]
            guard let id = id?.string, let user = (isNotice ? json["data"] : json)?[.user]?.string else { return nil }
            guard !id.isEmpty, id.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
            (self.id, self.user) = (id, user)
        }
    }
}
