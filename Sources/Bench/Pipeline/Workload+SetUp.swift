import Events

extension Workload {
    /// Blocks of commands, one a line: first the devices, then the subscriptions.
    ///
    /// - Parameter devices: How many devices to register. Each user with subscriptions has one device in any case; the
    ///   remaining devices belong to users without subscriptions.
    func setUp(devices: Int = 0, blockLines: Int = 500) -> [[String]] {
        let lines = (0..<max(users, devices)).map(Workload.device) + (0..<subscriptions).map(Workload.subscription)
        return stride(from: 0, to: lines.count, by: blockLines).map {
            Array(lines[$0..<min($0 + blockLines, lines.count)])
        }
    }

    static func device(ofUser user: Int) -> String {
        let digits = digits(user, 6)
        return """
            {"type":"device.register",\(WorkloadNames.place),"\(Member.user)":"_u\(digits)","device":"phone\(digits)",\
            "transport":"file","token":"70ce\(digits)","topic":"com.example.Bench"}
            """
    }

    static func subscription(inSlot slot: Int) -> String {
        let kind = kind(ofSlot: slot)
        return """
            {"type":"subscription.save",\(WorkloadNames.place),\
            "database":"\(kind == .publicQuery ? "public" : "private")","\(Member.user)":"_u\(digits(user(ofSlot: slot), 6))",\
            "subscription":{"\(Member.subscriptionID)":"s\(digits(slot, 7))",\(typeMembers(kind, slot)),\
            "notificationInfo":{"title":"Bench","alertLocalizationKey":"CHANGED","alertLocalizationArgs":["title"],\
            "desiredKeys":["title","priority"],"soundName":"default"}}}
            """
    }

    /// The subscription's type, and the members that say what it watches.
    private static func typeMembers(_ kind: Kind, _ slot: Int) -> String {
        let head = "\"subscriptionType\":\"query\",\"firesOn\":[\"create\",\"update\"],\"query\":"
        switch kind {
        case .privateQuery:
            return """
                \(head){"recordType":"Note","filterBy":[\
                {"fieldName":"topic","comparator":"EQUALS","fieldValue":{"value":"t\(digits(slot, 7))","type":"STRING"}},\
                {"fieldName":"priority","comparator":"GREATER_THAN_OR_EQUALS","fieldValue":{"value":3,"type":"INT64"}}]}
                """
        case .publicQuery:
            return
                "\(head){\"recordType\":\"Article\",\"predicate\":\"topic == 't\(digits(slot, 7))' AND priority > 2\"}"
        case .zone:
            return "\"subscriptionType\":\"zone\",\"zoneID\":{\"zoneName\":\"Z\(digits(slot, 7))\"}"
        }
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
