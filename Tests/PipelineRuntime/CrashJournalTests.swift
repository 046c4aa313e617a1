import Foundation
import TestSupport
import Testing
import Time

@testable import PipelineRuntime

/// A host sets aside an event on which its process has crashed three times.
@Suite struct CrashJournalTests {
    private let folder: Folder
    private let log = LogIdentity(seed: "test", name: "matches")

    init() throws { folder = try Folder() }

    /// Starts another process, which ends while it processes these events, or between events if `events` is nil.
    private func crash(at events: ClosedRange<UInt64>?, boot: UInt64 = 1) throws {
        let journal = try start(boot: boot)
        journal.note(1...1_000)
        journal.clear()
        if let events { journal.note(events) }
    }

    private func start(boot: UInt64 = 1, end: String? = nil) throws -> CrashJournal {
        try #require(CrashJournal(logDirectory: folder.path, of: log, boot: boot, end: end))
    }

    @Test func `the third crash in a row on an event sets it aside, even if the first note named more events`() throws {
        try crash(at: 10...20)
        #expect(try start().eventToSetAside == nil)
        #expect(try start().notesEachEvent(from: 20) && !start().notesEachEvent(from: 21))
        try crash(at: 17...17)
        #expect(try start().eventToSetAside == nil)
        try crash(at: 17...17)
        let journal = try start(end: "was ended by signal 4")
        #expect(journal.eventToSetAside == 17 && journal.notesEachEvent(from: 20))
        #expect(journal.reason.hasSuffix("it worked on the event (the last time it was ended by signal 4)"))
    }

    @Test func `three crashes on a range of events set none of them aside`() throws {
        for _ in 0..<3 { try crash(at: 10...20) }
        #expect(try start().eventToSetAside == nil)
    }

    @Test func `a crash on another event restarts the count, and a crash between events does not count`() throws {
        for _ in 0..<2 { try crash(at: 17...17) }
        try crash(at: 18...18)
        try crash(at: 17...17)
        #expect(try start().eventToSetAside == nil)
        try crash(at: nil)
        try crash(at: 17...17)
        try crash(at: nil)
        try crash(at: 17...17)
        #expect(try start().eventToSetAside == 17)
    }

    @Test func `after ten set-aside events in a row no further event is set aside, until the stage processes one`()
        throws
    {
        func crashThrice(at event: UInt64) throws -> CrashJournal {
            for _ in 0..<3 {
                let journal = try start()
                journal.note(event...event)
            }
            return try start()
        }
        for event: UInt64 in 1...10 {
            let journal = try crashThrice(at: event)
            #expect(journal.eventToSetAside == event)
            journal.noteSetAside()
        }
        let journal = try crashThrice(at: 11)
        #expect(journal.eventToSetAside == nil && journal.crashingEvent == 11)
        journal.note(11...11)
        journal.clear()
        #expect(try crashThrice(at: 12).eventToSetAside == 12)
    }

    @Test func `a note from before a loss of power does not count as a crash`() throws {
        for boot: UInt64 in 1...4 { try crash(at: 17...17, boot: boot) }
        #expect(try start(boot: 5).eventToSetAside == nil)
    }

    @Test func `a journal that is damaged or of another log restarts the count`() throws {
        for _ in 0..<3 { try crash(at: 17...17) }
        let other = LogIdentity(seed: "test", name: "pushes")
        #expect(CrashNote.read(logDirectory: folder.path, of: other, after: 0) == nil)
        #expect(CrashNote.read(logDirectory: folder.path, of: log, after: 17) == nil)
        // Zero crashes, because the event is only noted as in progress. The next start counts the crash.
        #expect(CrashNote.read(logDirectory: folder.path, of: log, after: 16) == CrashNote(events: 17...17, crashes: 0))
        let journal = try #require(CrashJournal(logDirectory: folder.path, of: other, boot: 1))
        #expect(journal.eventToSetAside == nil)
        try Data("no journal".utf8).write(to: URL(fileURLWithPath: folder.file(CrashJournal.name)))
        #expect(try start().eventToSetAside == nil)
    }
}
