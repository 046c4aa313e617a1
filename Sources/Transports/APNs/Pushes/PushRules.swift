import Events
import JSON

/// Rejects pushes that APNs would reject, or that it would accept and show to nobody.
///
/// Apple documents the rules in "Sending notification requests to APNs", "Pushing background updates to your App" and
/// "Communicating with APNs".
enum PushRules {
    /// Checks the headers that pushes of a kind share.
    ///
    /// - Parameter usesCertificate: Whether the app uses a certificate instead of a key.
    static func check(_ kind: APNsPush.Kind, usesCertificate: Bool) throws(UnsendablePush) {
        guard !kind.topic.isEmpty else { throw UnsendablePush("a push without a topic") }
        guard ["10", "5", "1"].contains(kind.priority) else {
            throw UnsendablePush("apns-priority \(kind.priority) is not 10, 5 or 1")
        }
        guard kind.pushType != "background" || kind.priority == "5" else {
            throw UnsendablePush("a background push with apns-priority \(kind.priority): it must be 5")
        }
        guard !usesCertificate || !typesThatNeedKey.contains(kind.pushType) else {
            throw UnsendablePush("a \(kind.pushType) push cannot be sent with a certificate: the app needs a key")
        }
        try checkSuffix(kind)
    }

    private static let typesThatNeedKey: Set<String> = ["location", "liveactivity"]

    /// The suffix that follows the bundle ID in the topic, for each push type with a suffix.
    private static let suffixes = [
        "voip": ".voip", "complication": ".complication", "controls": ".push-type.controls",
        "fileprovider": ".pushkit.fileprovider", "liveactivity": ".push-type.liveactivity",
        "location": ".location-query", "pushtotalk": ".voip-ptt", "widgets": ".push-type.widgets",
    ]

    /// Checks the end of the topic. Pushes of types that Belfry does not know may have any topic.
    private static func checkSuffix(_ kind: APNsPush.Kind) throws(UnsendablePush) {
        let topic = kind.topic
        if let suffix = suffixes[kind.pushType] {
            guard !topic.hasSuffix(suffix) || topic.utf8.count == suffix.utf8.count else { return }
            throw UnsendablePush(
                "the topic \(topic) of a \(kind.pushType) push is not a bundle ID followed by \(suffix)")
        }
        guard ["alert", "background"].contains(kind.pushType),
            let other = suffixes.first(where: { topic.hasSuffix($0.value) })
        else { return }
        throw UnsendablePush("the topic \(topic) is for \(other.key) pushes, not for \(kind.pushType)")
    }

    static func check(_ payload: JSONValue, of kind: APNsPush.Kind) throws(UnsendablePush) {
        let (bytes, limit) = (payload.raw.count, payloadBytesMax(kind))
        guard bytes <= limit else {
            throw UnsendablePush("a payload of \(bytes) bytes; APNs accepts at most \(limit)")
        }
        guard let aps = payload["aps"] else { return }
        guard kind.pushType != "background" else { return try checkBackground(aps) }
        guard aps.hasOnlyContentAvailable else { return }
        if kind.pushType == "alert" {
            throw UnsendablePush("an alert push with only content-available in aps: send it as background")
        }
        guard kind.priority == "10", payload.count == 1 else { return }
        throw UnsendablePush("a push with only content-available must have apns-priority 5, not 10")
    }

    // Apple, "Generating a remote notification": 5 KB for VoIP pushes, 4 KB for all other pushes.
    private static func payloadBytesMax(_ kind: APNsPush.Kind) -> Int { kind.pushType == "voip" ? 5_120 : 4_096 }

    private static func checkBackground(_ aps: JSONValue) throws(UnsendablePush) {
        guard aps["alert"] == nil, aps[.badge] == nil, aps["sound"] == nil else {
            throw UnsendablePush("a background push with an alert, badge or sound")
        }
    }
}

extension JSONValue {
    /// Whether `content-available` is the only member of `aps`. Such a push only wakes the app.
    fileprivate var hasOnlyContentAvailable: Bool {
        var isThere = false
        for (key, _) in members {
            guard key.equals("content-available") else { return false }
            isThere = true
        }
        return isThere
    }
}
