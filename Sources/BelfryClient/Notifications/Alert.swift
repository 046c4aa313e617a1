import Foundation

/// The alert, sound, badge and category of a push.
struct Alert {
    var body: String?
    var localizationKey: String?
    var localizationArgs: [String]?
    var title: String?
    var titleLocalizationKey: String?
    var titleLocalizationArgs: [String]?
    var subtitle: String?
    var subtitleLocalizationKey: String?
    var subtitleLocalizationArgs: [String]?
    var actionLocalizationKey: String?
    var launchImage: String?
    var soundName: String?
    var badge: NSNumber?
    var category: String?

    init(_ aps: PayloadDictionary?) {
        guard let aps else { return }
        body = aps.text("alert")
        (soundName, badge, category) = (aps.text("sound"), aps.number("badge"), aps.text("category"))
        if let alert = aps.dictionary("alert") { read(alert) }
    }

    private mutating func read(_ alert: PayloadDictionary) {
        body = alert.text("body")
        (localizationKey, localizationArgs) = (alert.text("loc-key"), alert.arguments("loc-args"))
        title = alert.text("title")
        (titleLocalizationKey, titleLocalizationArgs) = (alert.text("title-loc-key"), alert.arguments("title-loc-args"))
        subtitle = alert.text("subtitle")
        subtitleLocalizationKey = alert.text("subtitle-loc-key")
        subtitleLocalizationArgs = alert.arguments("subtitle-loc-args")
        actionLocalizationKey = alert.text("action-loc-key")
        launchImage = alert.text("launch-image")
    }
}
