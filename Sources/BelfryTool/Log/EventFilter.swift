import ArgumentParser
import Events
import JSON

/// Selects the events that satisfy every given option. If an option is given several times, one of its values must
/// match. For `--where`, all values must match.
struct EventFilter: ParsableArguments {
    @Option(help: "Only events of this type, such as match or record.save.")
    var type: [String] = []

    @Option(help: "Only events for this user, or about records and zones in the user's databases.")
    var user: [String] = []

    @Option(help: "Only events of this subscription.")
    var subscription: [String] = []

    @Option(help: "Only events about this record.")
    var record: [String] = []

    @Option(help: "Only events of this device.")
    var device: [String] = []

    @Option(help: "Only events caused by the change with this sequence.")
    var cause: [UInt64] = []

    @Option(
        name: .customLong("where"),
        help: "Only events with this value, such as headers.apns-priority=10; all given values must match.")
    var conditions: [MemberCondition] = []

    var isEmpty: Bool { tests.isEmpty && conditions.isEmpty && cause.isEmpty }

    private typealias Test = (wanted: [String], paths: [[Member]])

    private var tests: [Test] {
        let all: [Test] = [
            (type, [[.type]]), (user, [[.user], [.owner]]),
            (subscription, [[.subscriptionID], [.subscription, .subscriptionID]]),
            (record, [[.recordName], [.record, .recordName]]), (device, [[.device]]),
        ]
        return all.filter { !$0.wanted.isEmpty }
    }

    func accepts(_ event: JSONValue) -> Bool {
        tests.allSatisfy { test in
            test.paths.contains { path in
                event.values(at: path).contains { value in test.wanted.contains { value.equals($0) } }
            }
        } && (cause.isEmpty || cause.contains { event.isCaused(by: $0) })
            && conditions.allSatisfy { $0.holds(in: event) }
    }
}

/// A condition `member=value`. The member may be a path with dots, which leads into objects and arrays.
struct MemberCondition: ExpressibleByArgument, Equatable {
    let path: [String]
    let value: String

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "=") else { return nil }
        path = argument[..<sign].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        value = String(argument[argument.index(after: sign)...])
        guard !path.contains("") else { return nil }
    }

    /// Compares strings by their text, other values by their JSON.
    func holds(in event: JSONValue) -> Bool {
        event.values(at: path[...]).contains { found in
            found.isString ? found.equals(value) : found.raw.elementsEqual(value.utf8)
        }
    }
}

extension JSONValue {
    fileprivate func values(at path: [Member]) -> [JSONValue] { values(at: path.map(\.description)[...]) }

    /// The values at a path of members. In an array, the path continues in every element.
    fileprivate func values(at path: ArraySlice<String>) -> [JSONValue] {
        if isArray { return elements.flatMap { $0.values(at: path) } }
        guard let name = path.first else { return [self] }
        return member(name)?.values(at: path.dropFirst()) ?? []
    }

    /// Whether the change led to the event, or (`replacedByChange`) to the newer match that replaced the event's match.
    fileprivate func isCaused(by change: UInt64) -> Bool {
        let paths: [[Member]] = [[.change], [.replacedByChange], [.causes, .sequence]]
        return paths.contains { path in
            values(at: path).contains { $0.int64.flatMap(UInt64.init(exactly:)) == change }
        }
    }
}
