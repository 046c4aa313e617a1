import ArgumentParser
import Events
import JSON

/// Which events of a log are wanted: those that satisfy every option that is given, and of one that is given more than
/// once, any.
struct EventFilter: ParsableArguments {
    @Option(help: "Events of this type, as in match or record.save.")
    var type: [String] = []

    @Option(help: "Events of this user, or about a record of theirs.")
    var user: [String] = []

    @Option(help: "Events of this subscription.")
    var subscription: [String] = []

    @Option(help: "Events about this record.")
    var record: [String] = []

    @Option(help: "Events of this device.")
    var device: [String] = []

    @Option(help: "Events that the change with this sequence caused.")
    var cause: [UInt64] = []

    @Option(
        name: .customLong("where"),
        help: "Events with this value, as in headers.apns-priority=10; every one given must hold.")
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

/// `member=value`, where `member` may lead into objects and through arrays with dots.
struct MemberCondition: ExpressibleByArgument, Equatable {
    let path: [String]
    let value: String

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "=") else { return nil }
        path = argument[..<sign].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        value = String(argument[argument.index(after: sign)...])
        guard !path.contains("") else { return nil }
    }

    /// A string by its text, anything else as it is written in JSON.
    func holds(in event: JSONValue) -> Bool {
        event.values(at: path[...]).contains { found in
            found.isString ? found.equals(value) : found.raw.elementsEqual(value.utf8)
        }
    }
}

extension JSONValue {
    fileprivate func values(at path: [Member]) -> [JSONValue] { values(at: path.map(\.description)[...]) }

    /// What stands at a path of members; arrays on the way count with each of their elements.
    fileprivate func values(at path: ArraySlice<String>) -> [JSONValue] {
        if isArray { return elements.flatMap { $0.values(at: path) } }
        guard let name = path.first else { return [self] }
        return member(name)?.values(at: path.dropFirst()) ?? []
    }

    /// Whether a change is what an event is, or goes back to.
    fileprivate func isCaused(by change: UInt64) -> Bool {
        let paths: [[Member]] = [[.change], [.replacedByChange], [.causes, .sequence]]
        return paths.contains { path in
            values(at: path).contains { $0.int64.flatMap(UInt64.init(exactly:)) == change }
        }
    }
}
