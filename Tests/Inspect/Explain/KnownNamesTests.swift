import EventLog
import TestSupport
import Testing

@testable import Inspect

/// The names in a log that an error may suggest instead of a mistyped name.
struct KnownNamesTests {
    private func writeLog(in folder: Folder, users: Int) throws -> String {
        let writer = try EventLogWriter(EventLogOptions(directory: folder.path, name: "changes", sync: .never))
        for user in 1...users {
            let line = #"{"type":"device.register","user":"_u\#(user)","device":"d\#(user)"}"# + "\n"
            _ = try Array(line.utf8).withUnsafeBytes { try writer.append($0, count: 1, now: .epoch) }
        }
        try writer.close()
        return folder.file("changes")
    }

    @Test(arguments: [(50, [1, 5, 46, 50], [6, 45]), (9, [1, 5, 6, 9], []), (5, [1, 5], []), (1, [1], [])])
    func `only names near a log's beginning or end are known, but a given user's devices are known from the middle too`(
        users: Int, known: [Int], unknown: [Int]
    ) throws {
        let folder = try Folder()
        let log = try writeLog(in: folder, users: users)
        let finders: [any EventFinder] = [LogScan(), IndexFinder()]
        for finder in finders {
            let names = try KnownNames(in: log, user: nil, finder, eventsMax: 5)
            #expect(names.users.isSuperset(of: known.map { "_u\($0)" }))
            #expect(names.devices.isSuperset(of: known.map { "d\($0)" }))
            #expect(names.users.isDisjoint(with: unknown.map { "_u\($0)" }), "\(names.users)")
            let own = try KnownNames(in: log, user: "_u\(users / 2 + 1)", finder, eventsMax: 5)
            #expect(own.devices == ["d\(users / 2 + 1)"])
        }
    }

    @Test func `an empty log has no known names`() throws {
        let folder = try Folder()
        try EventLogWriter(EventLogOptions(directory: folder.path, name: "changes", sync: .never)).close()
        #expect(try KnownNames(in: folder.file("changes"), user: nil, LogScan()).users.isEmpty)
    }
}
