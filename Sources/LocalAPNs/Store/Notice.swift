import JSON

/// A notification as the device would show it.
package struct Notice: Sendable, Equatable {
    /// The alert's title, or the key that the app would look up, with its arguments.
    package var title: String?
    /// The alert's subtitle, or the key that the app would look up, with its arguments.
    package var subtitle: String?
    /// The alert's text, or the key that the app would look up, with its arguments.
    package var body: String?
    /// The number on the app's icon; 0 removes it.
    package var badge: Int?
    /// The name of the sound file, or `default`.
    package var sound: String?
    /// Whether the push shows nothing and only wakes the app.
    package var isBackground = false

    /// An empty notice.
    package init() {}

    /// Reads a payload. Members that the payload lacks stay nil.
    package init(payload: [UInt8], isBackground: Bool = false) {
        self.isBackground = isBackground
        var parser = JSONParser()
        payload.withUnsafeBytes { bytes in
            do throws(JSONError) {
                if let aps = try parser.parse(bytes)["aps"] { read(aps) }
            } catch {
                // The notice stays empty. The warnings of the request report the faulty payload.
            }
        }
    }

    private mutating func read(_ aps: JSONValue) {
        badge = aps["badge"]?.int64.flatMap { Int(exactly: $0) }
        sound = aps["sound"]?.string ?? aps["sound"]?["name"]?.string
        guard let alert = aps["alert"] else {
            isBackground = isBackground || isSilent
            return
        }
        body = alert.string ?? Notice.text(alert["body"], alert["loc-key"], alert["loc-args"])
        title = Notice.text(alert["title"], alert["title-loc-key"], alert["title-loc-args"])
        subtitle = Notice.text(alert["subtitle"], alert["subtitle-loc-key"], alert["subtitle-loc-args"])
    }

    private var isSilent: Bool { badge == nil && sound == nil }

    /// The plain text; without one, the key of the localized text with its arguments, because only the app has the
    /// localized text.
    private static func text(_ plain: JSONValue?, _ key: JSONValue?, _ arguments: JSONValue?) -> String? {
        if let plain = plain?.string { return plain }
        guard let key = key?.string else { return nil }
        let list = arguments.map { $0.elements.compactMap(\.string) } ?? []
        return list.isEmpty ? key : "\(key)(\(list.joined(separator: ", ")))"
    }
}
