import EventLog
import Foundation
import PipelineKit
import TestSupport
import Testing
import Time

@testable import PipelineRuntime

/// After a process has died, some answers must say that their push may arrive twice. These tests call such a push
/// marked.
@Suite struct InFlightJournalTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    @Test func `a push in flight at a kill is marked once`() throws {
        var first = start(after: 10)
        try first.note(pushes(1, 2)[...], after: 10)
        var second = start(after: 10)
        #expect(second.marked(answers(1, 2, 3)) == [1, 2])
        #expect(second.marked(answers(1, 2)) == [])
    }

    @Test func `a push whose answer is in the log is not marked`() throws {
        var first = start(after: 10)
        try first.note(pushes(1, 2)[...], after: 10)
        #expect(first.marked(answers(1, 2)) == [])
        var second = start(after: 12, recorded: answers(1, 2))
        #expect(second.marked(answers(1, 2, 3)) == [])
    }

    /// Pushes are sent while others are in flight.
    @Test func `a push in flight is not forgotten when more pushes are sent`() throws {
        var first = start(after: 10)
        try first.note(pushes(1, 2)[...], after: 10)
        #expect(first.marked(answers(2)) == [])
        try first.note(pushes(3)[...], after: 11)
        var second = start(after: 12, recorded: answers(3))
        #expect(second.marked(answers(1, 2, 3)) == [1])
    }

    @Test func `pushes in flight at a first kill are still marked after a second kill`() throws {
        var first = start(after: 10)
        try first.note(pushes(1, 2, 3)[...], after: 10)
        var second = start(after: 10)
        try second.note(pushes(1)[...], after: 10)
        #expect(second.marked(answers(1)) == [1])
        try second.note(pushes(2)[...], after: 11)
        var third = start(after: 11)
        #expect(third.marked(answers(1, 2, 3)) == [2, 3])
    }

    /// A process may add events to the log and die before it sends a push.
    @Test func `a push in flight is marked even if later events, but not its answer, are in the log`() throws {
        var first = start(after: 10)
        try first.note(pushes(1)[...], after: 10)
        var third = start(after: 13)
        #expect(third.marked(answers(1)) == [1])
    }

    @Test func `a deferred push is marked if its transport was closed`() throws {
        var first = start(after: 10, sessions: ["apns": 7, "hook": 8])
        try first.note((pushes(1, 2) + pushes(3, to: "hook"))[...], after: 10)
        var late = answers(1, 2, 3)
        (late[0].isUnderWay, late[2].isUnderWay) = (true, true)
        #expect(first.marked(late) == [])
        var reloaded = start(after: 13, sessions: ["apns": 7, "hook": 9], recorded: late)
        #expect(reloaded.marked(answers(1, 2, 3)) == [3])
        var restarted = start(after: 13, sessions: ["apns": 70, "hook": 90], recorded: late)
        #expect(restarted.marked(answers(1, 2, 3)) == [1, 3])
        // The answers came, but they are not in the log.
        var cut = start(after: 10, sessions: ["apns": 70, "hook": 80])
        #expect(cut.marked(answers(1, 2, 3)) == [1, 2, 3])
    }

    @Test func `a push whose answer was lost is marked after a second kill too`() throws {
        var first = start(after: 10)
        try first.note(pushes(1)[...], after: 10)
        var lost = answers(1)
        (lost[0].outcome, lost[0].reason) = (.deferred, "its answer was lost")
        var third = start(after: 12, recorded: lost)
        #expect(third.marked(answers(1)) == [1])
    }

    @Test func `a deferred push that got its last answer is not marked`() throws {
        var first = start(after: 10)
        try first.note(pushes(1)[...], after: 10)
        var late = answers(1)
        late[0].isUnderWay = true
        first.mark(&late)
        try first.note(pushes(1)[...], after: 11)
        #expect(first.marked(answers(1)) == [])
        var second = start(after: 12, sessions: ["apns": 9], recorded: answers(1))
        #expect(second.marked(answers(1)) == [])
    }

    @Test func `a deferred push is marked if its device now uses another transport`() throws {
        var first = start(after: 10, sessions: ["apns": 7, "hook": 8])
        try first.note(pushes(1)[...], after: 10)
        var late = answers(1)
        late[0].isUnderWay = true
        first.mark(&late)
        try first.note(pushes(1, to: "hook")[...], after: 11)
        #expect(first.marked(answers(1)) == [1])
    }

    // MARK: Files that cannot be trusted

    @Test func `after a loss of power every unfinished push is marked`() throws {
        var first = start(after: 10)
        try first.note(pushes(1)[...], after: 10)
        var second = start(after: 11, boot: 2, through: 40)
        #expect(second.marked(answers(1, 40, 41)) == [1, 40])
        try second.note(pushes(2)[...], after: 11)
        var third = start(after: 12, boot: 2, through: 50)
        #expect(third.marked(answers(40, 41)) == [40], "push 40 is no longer marked, or push 41 is marked")
    }

    @Test func `after the log has lost events every unfinished push is marked`() throws {
        var first = start(after: 10)
        try first.note(pushes(1)[...], after: 10)
        var second = start(after: 9, through: 3)
        #expect(second.marked(answers(1, 2, 3, 4)) == [1, 2, 3])
    }

    @Test func `a journal record without pushes in flight is trusted after a loss of power`() throws {
        var first = start(after: 10)
        try first.note(pushes(1, 2)[...], after: 10)
        var second = start(after: 10)
        try second.note(pushes(1)[...], after: 10)
        #expect(second.marked(answers(1)) == [1])
        try second.noteAtRest(after: 11)
        var third = start(after: 11, boot: 2)
        #expect(third.marked(answers(1, 2, 3)) == [2])
    }

    @Test(arguments: [
        Data("not ours".utf8), Data(repeating: 0xFF, count: 200), Data(repeating: 0, count: 96),
        Data([0x02] + "WUFB".utf8),
        Data("x".utf8),
    ])
    func `with foreign files every unfinished push is marked`(_ text: Data) throws {
        for path in paths { try text.write(to: URL(fileURLWithPath: path)) }
        var first = start(after: 10, through: 5)
        #expect(first.marked(answers(5, 6)) == [5])
    }

    @Test func `with files of another version or log every unfinished push is marked`() throws {
        var first = start(after: 10)
        try first.note(pushes(1)[...], after: 10)
        let files = InFlightJournalFiles(
            logDirectory: folder.path, of: LogIdentity(high: 3, low: 4), calls: FileCalls())
        #expect(files.read() == .foreign)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: paths[0]))
        bytes[0] += 1
        try bytes.write(to: URL(fileURLWithPath: paths[0]))
        var second = start(after: 10, through: 5)
        #expect(second.marked(answers(1, 5, 6)) == [1, 5])
    }

    @Test func `with missing or empty files the journal marks no push`() throws {
        var first = start(after: 10, through: 5)
        #expect(first.marked(answers(1, 5)) == [])
        for path in paths { try Data().write(to: URL(fileURLWithPath: path)) }
        var second = start(after: 10, through: 5)
        #expect(second.marked(answers(1, 5)) == [])
    }

    /// A process was killed in the middle of a write. The pushes of this write were not sent.
    @Test func `if one file of the journal is torn, the older record in the other file is used`() throws {
        var first = start(after: 10)
        try first.note(pushes(1, 2)[...], after: 10)
        var second = start(after: 10)
        try second.note([], after: 10)
        let before = try paths.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        try second.note(pushes(1, 2, 3, 4)[...], after: 10)
        let after = try paths.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        let place = try #require(before[0] == after[0] ? 1 : 0)
        for count in after[place].indices {
            let torn = after[place].prefix(count) + before[place].dropFirst(count)
            try torn.write(to: URL(fileURLWithPath: paths[place]))
            var third = start(after: 10)
            #expect(third.marked(answers(1, 2, 3)) == [1, 2], "\(count)")
        }
    }

    @Test func `if both files of the journal are torn, every unfinished push is marked`() throws {
        var first = start(after: 10)
        try first.note(pushes(1)[...], after: 10)
        for path in paths {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try bytes.dropLast().write(to: URL(fileURLWithPath: path))
        }
        var second = start(after: 11, through: 5)
        #expect(second.marked(answers(5, 6)) == [5])
    }

    @Test func `a failed write leaves the older record of the journal valid`() throws {
        var first = start(after: 10)
        try first.note(pushes(1)[...], after: 10)
        var calls = FileCalls()
        calls.write = { file, parts, _, offset in
            guard offset == 0 else {
                errno = ENOSPC
                return -1
            }
            return pwrite(file, parts.pointee.iov_base, 20, 0)
        }
        let files = InFlightJournalFiles(logDirectory: folder.path, of: Self.log, calls: calls)
        var second = InFlightJournal(files, boot: 1, sessions: ["apns": 8], after: 10, through: 9) { _ in [] }
        #expect(throws: EventLogError.self) { try second.note(pushes(2)[...], after: 10) }
        var third = start(after: 10)
        #expect(third.marked(answers(1, 2)) == [1])
    }

    @Test(arguments: [true, false])
    func `after another host, every earlier unfinished push may have been sent`(hasRecord: Bool) throws {
        if hasRecord {
            var former = start(after: 10)
            try former.noteAtRest(after: 10)
        }
        var elsewhere = start(after: 10, through: 3, continuesAnotherHost: true)
        #expect(elsewhere.marked(answers(2, 3, 4)) == [2, 3])
        try elsewhere.noteAtRest(after: 12)
        var again = start(after: 12, through: 5)
        #expect(again.marked(answers(3, 4)) == [3])
    }

    // MARK: Helpers

    private static let log = LogIdentity(high: 1, low: 2)
    private var paths: [String] { InFlightJournalFiles.names.map { folder.file($0) } }

    /// - Parameters:
    ///   - after: The last sequence of the stage's own log.
    ///   - sessions: By default, one transport `apns` with a new session.
    ///   - last: The last push in the upstream's log.
    ///   - recorded: The answers in the log since pushes were last sent.
    private func start(
        after: UInt64, boot: UInt64 = 1, sessions: [String: UInt64]? = nil, through last: UInt64 = 9,
        continuesAnotherHost: Bool = false, recorded: [TransportAnswer] = []
    ) -> InFlightJournal {
        let files = InFlightJournalFiles(logDirectory: folder.path, of: Self.log, calls: FileCalls())
        return InFlightJournal(
            files, boot: boot, sessions: sessions ?? ["apns": .random(in: 100 ... .max)], after: after, through: last,
            continuesAnotherHost: continuesAnotherHost
        ) { _ in recorded }
    }

    private func pushes(_ numbers: UInt64..., to transport: String = "apns") -> [Delivery] {
        numbers.map { Delivery(id: .init(push: $0, device: "phone"), transport: transport, line: Array("{}".utf8)) }
    }

    private func answers(_ numbers: UInt64...) -> [TransportAnswer] {
        numbers.map { TransportAnswer(.init(push: $0, device: "phone"), .accepted) }
    }
}

extension InFlightJournal {
    /// The numbers of the pushes whose answers say that the push may arrive twice.
    fileprivate mutating func marked(_ answers: [TransportAnswer]) -> [UInt64] {
        var answers = answers
        mark(&answers)
        return answers.filter(\.mayRepeat).map(\.id.push)
    }
}
