import CloudKitModel
import Events
import JSON
import PipelineKit

/// Checks the push in a `push.redrive` and the push's position. The push must have the form that the payload stage
/// writes, because deliver sends the push's payload and headers unchanged and only adds headers.
struct RedriveCheck {
    let command: JSONValue

    private static let positionKeys: [StaticString] = ["log", "sequence"]
    private static let pushKeys: [StaticString] = [
        .type, .notificationID, .container, .environment, .user, .subscriptionID, .origin, .headers, .payload,
        .payloadByTopic, .unpruned, .causes,
    ]
    /// The headers that deliver writes for each device.
    private static let deviceHeaders: [StaticString] = ["apns-id", "apns-topic"]

    func callAsFunction() throws(ModelError) {
        let (position, push) = (try command.required(.redriveOf), try command.required(.push))
        try under(.redriveOf) { () throws(ModelError) in try check(position: position, "redriveOf") }
        try under(.push) { () throws(ModelError) in try check(push: push) }
    }

    private func check(push: JSONValue) throws(ModelError) {
        try push.expectObject("a push")
        try push.expectKeys(Self.pushKeys, of: "a push")
        let type = try push.required(.type)
        _ = try under(.type) { () throws(ModelError) in try type.expectWord(["push"], "a push's type") }
        try NameRule.notificationID.check(.notificationID, of: push)
        for key: Member in [.container, .environment, .user] { try checkCommandHasSame(key, as: push) }
        try checkSubscriptionAndOrigin(of: push)
        try check(headers: push.required(.headers))
        try checkPayloads(of: push)
        let causes = try push.required(.causes)
        try under(.causes) { () throws(ModelError) in try check(causes: causes) }
    }

    /// The push and the command must name the same user in the same container and environment.
    private func checkCommandHasSame(_ key: StaticString, as push: JSONValue) throws(ModelError) {
        let value = try push.required(key)
        guard value.isString, let own = command[key], value.hasSameText(as: own) else {
            throw ModelError(
                "member.conflict", at: "\(key)",
                "\(key) differs between the push and the command: redrive a push only for its own user, in its "
                    + "own container and environment")
        }
    }

    private func checkSubscriptionAndOrigin(of push: JSONValue) throws(ModelError) {
        if let id = push[.subscriptionID] {
            try under(.subscriptionID) { () throws(ModelError) in try NameRule.subscriptionID.check(id) }
        }
        guard let origin = push[.origin], !origin.isNull else { return }
        try under(.origin) { () throws(ModelError) in try origin.expectObject("an origin") }
    }

    private func check(headers: JSONValue) throws(ModelError) {
        try under(.headers) { () throws(ModelError) in
            try headers.expectObject("headers")
            for (key, value) in headers.members {
                let name = key.string ?? ""
                if let own = Self.deviceHeaders.first(where: { key.equals($0) }) {
                    throw ModelError("member.unknown", at: name, "deliver writes \(own) itself: leave \(own) out")
                }
                do throws(ModelError) { try NameRule.header.check(value) } catch { throw error.under(name) }
            }
            guard let collapseID = headers[.apnsCollapseID] else { return }
            try under(.apnsCollapseID) { () throws(ModelError) in try NameRule.collapseID.check(collapseID) }
        }
    }

    private func checkPayloads(of push: JSONValue) throws(ModelError) {
        let payload = try push.required(.payload)
        try under(.payload) { () throws(ModelError) in try payload.expectObject("a payload") }
        if let topics = push[.payloadByTopic] {
            try under(.payloadByTopic) { () throws(ModelError) in
                try topics.expectObject("payloadByTopic")
                for (key, value) in topics.members where !value.isObject {
                    throw value.kindError("a payload must be an object").under(key.string ?? "")
                }
            }
        }
        guard let unpruned = push[.unpruned] else { return }
        try under(.unpruned) { () throws(ModelError) in try unpruned.expectObject("a payload") }
    }

    private func check(causes: JSONValue) throws(ModelError) {
        try causes.expectArray(.causes)
        for (index, cause) in causes.elements.enumerated() {
            try under(element: index) { () throws(ModelError) in try check(position: cause, "a cause") }
        }
    }

    private func check(position: JSONValue, _ what: StaticString) throws(ModelError) {
        try position.expectObject(what)
        try position.expectKeys(Self.positionKeys, of: what)
        try NameRule.logName.check(.log, of: position)
        let sequence = try position.required(.sequence)
        guard let number = sequence.int64, number > 0 else {
            let found = String(decoding: sequence.raw.prefix(32), as: UTF8.self).printable
            throw ModelError(
                "position.sequence", at: "sequence",
                "a sequence must be a whole number from 1 on, but this is \(found)")
        }
    }
}
