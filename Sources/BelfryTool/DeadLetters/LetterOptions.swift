import ArgumentParser
import Inspect

/// A ``LetterFilter``, as options.
struct LetterOptions: ParsableArguments {
    @Option(help: "What this stage set aside, or deliver did not get through.")
    var stage: [String] = []

    @Option(help: "Of this code: an outcome (failed, unregistered, expired, unknown_transport) or a rejection's.")
    var code: [String] = []

    @Option(help: "With this text in the reason, in whatever case, as in BadTopic; a status counts too.")
    var reason: [String] = []

    @Option(help: "For this user, or about a record of theirs.")
    var user: [String] = []

    @Option(help: "For this device.")
    var device: [String] = []

    @Option(help: "Of this container.")
    var container: [String] = []

    @Option(help: "To devices with this topic: the app's bundle ID.")
    var topic: [String] = []

    @Option(
        parsing: .unconditional,
        help: "From this change on (a sequence of the source's log), time (RFC 3339), or so long before its end (-10m)."
    )
    var from: LogPosition?

    @Option(parsing: .unconditional, help: "Until this change, time, or so long before the end.")
    var until: LogPosition?

    var filter: LetterFilter {
        var filter = LetterFilter()
        (filter.stage, filter.code, filter.reason) = (stage, code, reason)
        (filter.user, filter.device, filter.container, filter.topic) = (user, device, container, topic)
        (filter.from, filter.until) = (from, until)
        return filter
    }
}

extension Obsolescence: ExpressibleByArgument {
    /// What `--help` and the parser's errors list.
    package static var allValueStrings: [String] { includable.map(\.rawValue) }
}
