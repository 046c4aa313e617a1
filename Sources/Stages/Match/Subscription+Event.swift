import JSON

extension Subscription {
    /// Calls `body` with the event that saved it. For what is seldom asked.
    func withEvent<Result>(_ body: (JSONValue) -> Result?) -> Result? {
        var parser = JSONParser(limits: JSONLimits(depthMax: JSONLimits().depthMax + 8))
        return text.withUnsafeBytes { text in
            do { return body(try parser.parse(text)) } catch { return nil }
        }
    }

    /// The type that a zone or database subscription names, whatever the settings make of it.
    var namedRecordType: String? { withEvent { $0["subscription"]?["recordType"]?.string } }
}
