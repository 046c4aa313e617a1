import ArgumentParser
import Inspect

/// The options that make a ``DeadLetterFilter``.
struct DeadLetterOptions: ParsableArguments {
    @Option(help: "Only dead letters of this stage.")
    var stage: [String] = []

    @Option(
        help:
            "Only this code: an outcome (failed, unregistered, expired, unknown_transport), or the code of a rejection."
    )
    var code: [String] = []

    @Option(help: "Only reasons with this text, regardless of case, such as BadTopic; or only this HTTP status.")
    var reason: [String] = []

    @Option(help: "Only pushes and events for this user, or events about the user's records.")
    var user: [String] = []

    @Option(help: "Only this device.")
    var device: [String] = []

    @Option(help: "Only this container.")
    var container: [String] = []

    @Option(help: "Only devices with this topic, the app's bundle ID.")
    var topic: [String] = []

    @Option(
        parsing: .unconditional,
        help:
            "Begin with this sequence of the changes log, time (RFC 3339), or time before the log's last event (-10m)."
    )
    var from: LogPosition?

    @Option(parsing: .unconditional, help: "End with this sequence, time, or time before the log's last event.")
    var until: LogPosition?

    var filter: DeadLetterFilter {
        var filter = DeadLetterFilter()
        (filter.stage, filter.code, filter.reason) = (stage, code, reason)
        (filter.user, filter.device, filter.container, filter.topic) = (user, device, container, topic)
        (filter.from, filter.until) = (from, until)
        return filter
    }
}

extension Obsolescence: ExpressibleByArgument {
    /// The values in `--help` and in the parser's errors.
    package static var allValueStrings: [String] { includable.map(\.rawValue) }
}
