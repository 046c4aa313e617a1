import Events

/// Users, devices, subscriptions and changes of a fan-out.
struct FanOutWorkload {
    static let watchersMax = 10_000_000
    /// Users who watch one topic each.
    static let others = 1_000

    let watchers: Int

    /// Commands in blocks that a producer can send.
    func setUp(blockLines: Int = 500) -> some Sequence<[String]> {
        let users = (0..<FanOutWorkload.others).map { "_o\($0)" }
        return stride(from: 0, to: watchers + users.count, by: blockLines).lazy.map { start in
            (start..<min(start + blockLines, watchers + users.count)).flatMap { number in
                number < users.count ? other(number) : watcher(number - users.count)
            }
        }
    }

    var setUpLines: Int { 2 * (watchers + FanOutWorkload.others) }

    private func watcher(_ number: Int) -> [String] {
        user("_w\(number)", #"{"recordType":"Notice","predicate":"topic == 'news'"}"#)
    }

    private func other(_ number: Int) -> [String] {
        user("_o\(number)", #"{"recordType":"Article","predicate":"topic == 't\#(number)'"}"#)
    }

    private func user(_ name: String, _ query: String) -> [String] {
        [
            """
            {"type":"device.register",\(WorkloadNames.place),"\(Member.user)":"\(name)","device":"phone\(name)",\
            "transport":"file","token":"70ce\(name)","topic":"com.example.Bench"}
            """,
            """
            {"type":"subscription.save",\(WorkloadNames.place),"database":"public","\(Member.user)":"\(name)",\
            "subscription":{"\(Member.subscriptionID)":"s","subscriptionType":"query","firesOn":["create","update"],\
            "query":\(query),"notificationInfo":{"title":"Bench","alertLocalizationKey":"CHANGED",\
            "alertLocalizationArgs":["title"],"desiredKeys":["title","priority"],"soundName":"default"}}}
            """,
        ]
    }

    /// The change that all watchers watch.
    static let news = change("Notice", "news", 0)

    /// One that one user watches.
    static func change(_ number: Int) -> String { change("Article", "t\(number % others)", number) }

    private static func change(_ type: String, _ topic: String, _ number: Int) -> String {
        """
        {"type":"record.save",\(WorkloadNames.place),"database":"public","origin":{"\(Member.user)":"_author"},"record":\
        {"recordName":"\(type)-\(number % 10_000)","recordType":"\(type)","fields":{\
        "topic":{"value":"\(topic)","type":"STRING"},"priority":{"value":\(number % 10),"type":"INT64"},\
        "title":{"value":"Draft \(number)\(WorkloadNames.filler)","type":"STRING"}}}}
        """
    }
}
