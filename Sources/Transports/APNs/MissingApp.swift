import PipelineKit

/// The reason in the answer to a push for an app that the transport does not have, and what the operator can do.
enum MissingApp {
    private static let start = "no app of this transport has "

    /// - Parameter apps: The apps that the transport has.
    static func reason(_ app: Delivery.App?, among apps: [APNsApp]) -> String {
        guard let app else { return "the push names no app" }
        let near = apps.first { $0.container == app.container }.map { "; \($0.name) has \($0.words)" } ?? ""
        return start + words(app.container, app.environment, app.topic) + near
    }

    /// What to do if the reason says that no app of the transport fits the push; nil for other reasons.
    static func remedy(_ reason: String) -> String? {
        guard reason.hasPrefix(start) else { return nil }
        return "add the app to the transport's apps, with this container, environment and topic, and with its "
            + "team, key and keyFile, or its certificate and certificateKey; or correct what the device registered"
    }

    fileprivate static func words(_ container: String, _ environment: String, _ topic: String?) -> String {
        "container \(container), environment \(environment)" + (topic.map { ", topic \($0)" } ?? "")
    }
}

extension APNsApp {
    fileprivate var words: String { MissingApp.words(container, environment, topic) }
}
