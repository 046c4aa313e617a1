import Events
import JSON
import PipelineKit

/// A push in one line for people.
enum PushSummary {
    /// The user and the device, the texts of the alert or `no alert`, and then the subscription, the badge and the
    /// collapse ID:
    ///
    ///     _alice on alice-phone: "Notes", "A note was added" (query subscription feed, badge 7, collapses as n1)
    static func text(of delivery: Delivery) -> String {
        var reader = PushReader()
        do throws(JSONError) { return try reader.read(delivery) { text(of: $0) } } catch {
            return "a push that is not JSON: \(error)"
        }
    }

    private static func text(of push: DeliveredPush) -> String {
        let payload = push.payload?.value
        let aps = payload?["aps"]
        let collapse = push.collapseID?.string.map { "collapses as \(printable($0))" }
        let details = [subscription(payload?["ck"]), badge(aps), collapse].compactMap { $0 }
        let place = "\(word(push.user?.value)) on \(word(push.device?.value))"
        return "\(place): \(visible(aps))" + (details.isEmpty ? "" : " (\(details.joined(separator: ", ")))")
    }

    private static func visible(_ aps: JSONValue?) -> String {
        guard let alert = aps?["alert"], !alert.isNull else { return "no alert" }
        if let text = alert.string { return quoted(text) }
        let texts = [
            text(in: alert, "title", "title-loc-key", "title-loc-args"),
            text(in: alert, "subtitle", "subtitle-loc-key", "subtitle-loc-args"),
            text(in: alert, "body", "loc-key", "loc-args"),
        ]
        let shown = texts.compactMap { $0 }.joined(separator: ", ")
        return shown.isEmpty ? "no alert" : shown
    }

    /// The text in quotation marks, or the key of a localized text with its arguments.
    private static func text(
        in alert: JSONValue, _ plain: StaticString, _ key: StaticString, _ arguments: StaticString
    ) -> String? {
        if let text = alert[plain]?.string { return quoted(text) }
        guard let key = alert[key]?.string else { return nil }
        let arguments = alert[arguments]?.elements.compactMap(\.string).map(quoted) ?? []
        return "\(printable(key))(\(arguments.joined(separator: ", ")))"
    }

    // CloudKit's payload has `qry` for a query subscription, `fet` for a record zone's and `met` for a database's.
    private static func subscription(_ ck: JSONValue?) -> String? {
        let families = [("query", ck?["qry"]), ("zone", ck?["fet"]), ("database", ck?["met"])]
        guard let (kind, family) = families.first(where: { $0.1 != nil }) else { return nil }
        return "\(kind) subscription \(word(family?["sid"]))"
    }

    private static func badge(_ aps: JSONValue?) -> String? { aps?[.badge]?.int64.map { "badge \($0)" } }

    private static func word(_ value: JSONValue?) -> String { value?.string.map(printable) ?? "?" }

    private static func quoted(_ text: String) -> String { "\"\(printable(text))\"" }

    private static func printable(_ text: String) -> String { text.withoutControls(keepingJoiners: true) }
}
