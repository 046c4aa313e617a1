import CloudKitModel
import Events
import JSON
import Predicates

/// Applies the rules of the ingest stage to a command that saves a subscription.
struct SaveCheck {
    let scope: DatabaseScope
    let isStrict: Bool

    func check(_ command: String) throws(ModelError) {
        try CommandText.read(command) { (json) throws(ModelError) in
            try CommandText.checkContainerAndUser(json)
            let user = try json.required(.user)
            let subscription = try json.required("subscription")
            try under("subscription") { () throws(ModelError) in try check(subscription, of: user) }
        }
    }

    private func check(_ json: JSONValue, of user: JSONValue) throws(ModelError) {
        let subscription = try Subscription(json, in: scope, allowsAnyScope: !isStrict)
        if let zone = subscription.zoneID {
            try under("zoneID") { () throws(ModelError) in try zone.expectOwner(user, in: scope) }
        }
        guard let query = subscription.query else { return }
        try under("query") { () throws(ModelError) in try check(query: query) }
    }

    private func check(query: JSONValue) throws(ModelError) {
        do throws(Predicates.PredicateError) {
            _ = try PredicateReader(isStrict ? .cloudKit : .extended).read(query: query)
        } catch {
            throw ModelError(error.code, at: error.queryPath, error.queryReason(in: query))
        }
    }
}

/// Applies the rules of the ingest stage to a command that deletes a subscription.
struct DeleteCheck {
    func check(_ command: String) throws(ModelError) {
        try CommandText.read(command) { (json) throws(ModelError) in
            try CommandText.checkContainerAndUser(json)
            try NameRule.subscriptionID.check(.subscriptionID, of: json)
        }
    }
}

/// Parses the JSON of a command.
enum CommandText {
    static func read(_ command: String, _ body: (JSONValue) throws(ModelError) -> Void) throws(ModelError) {
        let bytes = Array(command.utf8)
        try bytes.withUnsafeBytes { text in Result { () throws(ModelError) in try read(text, body) } }.get()
    }

    private static func read(
        _ text: UnsafeRawBufferPointer, _ body: (JSONValue) throws(ModelError) -> Void
    ) throws(ModelError) {
        var parser = JSONParser()
        let json: JSONValue
        do throws(JSONError) { json = try parser.parse(text) } catch { throw ModelError(error.code, "\(error)") }
        try body(json)
    }

    static func checkContainerAndUser(_ command: JSONValue) throws(ModelError) {
        let container = try command.required("container")
        try under("container") { () throws(ModelError) in try Container.check(container) }
        try NameRule.user.check(.user, of: command)
    }
}
