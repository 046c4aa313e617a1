import Foundation
import Glibc
import Synchronization
import Testing
import Time

@testable import EventLog

@Suite struct SnapshotTests {
    private let scratch = Scratch()

    @Test func `a snapshot is read back as it was written`() throws {
        let store = scratch.snapshots
        #expect(try store.newest(where: { _ in true }, problem: { Issue.record("\($0)") }) == nil)
        try store.write(.at(7, position: 9), "state of seven")
        try store.write(.at(7, position: 12), "later state")
        let newest = try store.newest(where: { _ in true }, problem: { Issue.record("\($0)") })
        #expect(newest?.header == .at(7, position: 12) && newest?.state == Array("later state".utf8))
        let older = try store.newest(where: { $0.position < 12 }, problem: { Issue.record("\($0)") })
        #expect(older?.state == Array("state of seven".utf8))
        #expect(try store.list().map(\.header) == [.at(7, position: 9), .at(7, position: 12)])
        #expect(try store.list().allSatisfy { $0.problem == nil && $0.bytes > 96 })
    }

    @Test func `a snapshot that is damaged at any byte, too short or too long is skipped`() throws {
        let store = scratch.snapshots
        try store.write(.at(1, position: 1), "old")
        let path = try store.write(.at(2, position: 5), "new state").path
        let whole = try bytes(of: path)
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 1 << (index % 8)
            try expectSkipped(damaged, at: path, in: store)
            try expectSkipped(Array(whole[..<index]), at: path, in: store)
        }
        try expectSkipped(whole + [0], at: path, in: store)
        try write(whole, to: path)
        #expect(try store.newest(where: { _ in true }, problem: { Issue.record("\($0)") })?.header.sequence == 2)
    }

    private func expectSkipped(_ damaged: [UInt8], at path: String, in store: SnapshotStore) throws {
        try write(damaged, to: path)
        var problems: [String] = []
        let found = try store.newest(where: { _ in true }, problem: { problems.append($0) })
        #expect(found?.state == Array("old".utf8))
        #expect(problems.count == 1 && problems[0].hasPrefix(path + ": ") && problems[0].count > path.count + 5)
        #expect(try store.check(try LogSummary(lastSequence: 2)).map(\.file) == [path])
    }

    @Test func `the log's writer removes a damaged snapshot, and keeps a snapshot of another build`() throws {
        var store = scratch.snapshots
        try store.write(.at(1, position: 1), "old")
        let path = try store.write(.at(2, position: 5), "new state").path
        let whole = try bytes(of: path)
        var ofLaterBuild = whole
        ofLaterBuild[12] &+= 1
        for (changed, isRemoved) in [(Array(whole.dropLast()), true), (ofLaterBuild, false)] {
            try write(changed, to: path)
            for removes in [false, true, true] {
                store.removesDamaged = removes
                var problems: [String] = []
                let exists = access(path, F_OK) == 0
                #expect(try store.newest(where: { _ in true }, problem: { problems.append($0) })?.header.sequence == 1)
                #expect(problems.count == (exists ? 1 : 0))
                #expect(problems.allSatisfy { $0.hasSuffix("; removed") == (removes && isRemoved) }, "\(problems)")
            }
            #expect(access(path, F_OK) == (isRemoved ? -1 : 0))
        }
    }

    @Test func `a snapshot with another file name is skipped`() throws {
        let store = scratch.snapshots
        let path = try store.write(.at(2, position: 5), "state").path
        try FileManager.default.moveItem(
            atPath: path, toPath: store.directory + "/00000000000000000003-00000000000000000005.snapshot")
        var problems: [String] = []
        #expect(try store.newest(where: { _ in true }, problem: { problems.append($0) }) == nil)
        let problem = "the file's name does not have the sequences of its header"
        #expect(problems.count == 1 && problems[0].hasSuffix(problem))
        #expect(try store.list().map(\.problem) == [problem])
    }

    @Test func `only snapshots of the same stage, logs and version, up to the log's end, fit`() throws {
        let store = scratch.snapshots
        var others = [SnapshotHeader](repeating: .at(1, position: 1), count: 5)
        others[0].log = LogIdentity(seed: "other", name: "log")
        others[1].upstream = LogIdentity(seed: "other", name: "upstream")
        others[2].sequence = 11
        others[3].stage = "coalesce"
        others[4].version = 2
        let words = ["belongs to log", "was made from log", "its log ends at 10", "a stage 'coalesce'", "version 2"]
        for (header, word) in zip(others, words) {
            try store.write(header, "state")
            var problems: [String] = []
            #expect(try store.newest(fitting: .test, problem: { problems.append($0) }) == nil)
            #expect(problems.count == 1 && problems[0].contains(word) && problems[0].contains(store.directory))
            try store.remove { _ in true }
        }
        try store.write(.at(10, position: 1), "state")
        #expect(try store.newest(fitting: .test, problem: { Issue.record("\($0)") })?.header.sequence == 10)
    }

    @Test func `the check finds snapshots that do not fit their log`() throws {
        let store = scratch.snapshots
        try store.write(.at(3, position: 3), "state")
        let ahead = try store.write(.at(9, position: 9), "state").path
        var foreign = SnapshotHeader.at(2, position: 2)
        foreign.log = LogIdentity(seed: "other", name: "log")
        let other = try store.write(foreign, "state").path
        #expect(try store.check(LogSummary(lastSequence: 5)).map(\.file) == [other, ahead])
    }

    // MARK: Faults

    @Test func `a failed write, sync or rename of a new snapshot leaves the older snapshots`() throws {
        try scratch.snapshots.write(.at(1, position: 1), "old")
        for code in [ENOSPC, EIO, EDQUOT] {
            var call = 0
            while true {
                var store = scratch.snapshots
                store.calls = .failing(after: call, code: code)
                do {
                    try store.write(.at(2, position: 2), "new")
                    break
                } catch let error as EventLogError {
                    if case .full = error { #expect(code != EIO) } else { #expect(code == EIO) }
                    if call < 3 { #expect(try scratch.snapshots.list().map(\.header?.sequence) == [1]) }
                }
                #expect(try scratch.snapshots.list().allSatisfy { $0.problem == nil })
                call += 1
            }
            #expect(call == 4, "expected a write, a sync, a rename and a sync of the folder")
            #expect(try scratch.snapshots.list().map(\.header?.sequence) == [1, 2])
            try scratch.snapshots.remove { $0.header?.sequence == 2 }
        }
    }

    @Test func `an unfinished file that a crash left is not read as a snapshot`() throws {
        let store = scratch.snapshots
        let path = try store.write(.at(1, position: 1), "state").path
        let whole = try bytes(of: path)
        for count in 0...whole.count {
            try write(Array(whole[..<count]), to: store.directory + "/unfinished")
            #expect(try store.newest(where: { _ in true }, problem: { Issue.record("\($0)") })?.header.sequence == 1)
        }
        try store.write(.at(2, position: 2), "state")
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.directory).count == 2)
    }

    // MARK: Thinning

    @Test func `the kept snapshots are spread over the history`() throws {
        let store = scratch.snapshots
        for position in 1...32 as ClosedRange<UInt64> { try store.write(.at(position, position: position), "state") }
        let bytes = try store.list()[0].bytes
        try store.thin(bytesMax: bytes * 10)
        let kept = try store.list().compactMap { $0.header?.position }
        #expect(kept.count == 10 && kept.suffix(2) == [31, 32])
        let gaps = zip([0] + kept, kept).map { $1 - $0 }
        #expect(gaps.max().map { $0 <= 8 } == true, "\(kept)")
        try store.thin(bytesMax: 0)
        #expect(try store.list().compactMap { $0.header?.position } == [31, 32])
    }

    @Test func `thinning removes snapshots that cannot be read`() throws {
        let store = scratch.snapshots
        let path = try store.write(.at(1, position: 1), "state").path
        try store.write(.at(2, position: 2), "state")
        try write([1, 2, 3], to: path)
        try store.thin(bytesMax: .max)
        #expect(try store.list().map(\.header?.sequence) == [2])
    }
}

extension Scratch {
    fileprivate var snapshots: SnapshotStore { SnapshotStore(logDirectory: log) }
}

extension SnapshotStore {
    @discardableResult
    fileprivate func write(_ header: SnapshotHeader, _ state: String) throws -> SnapshotFile {
        try Array(state.utf8).withUnsafeBytes { try write(header, state: $0) }
    }
}

private let logIdentity = LogIdentity(seed: "test", name: "matches")
private let upstreamIdentity = LogIdentity(seed: "test", name: "changes")

extension SnapshotHeader {
    fileprivate static func at(_ sequence: UInt64, position: UInt64) -> SnapshotHeader {
        SnapshotHeader(
            stage: "match", version: 1, log: logIdentity, upstream: upstreamIdentity,
            cursor: Cursor(["changes": position]), sequence: sequence, now: Instant(microseconds: 1_700_000_000_000_000)
        )
    }
}

extension SnapshotFit {
    fileprivate static let test = SnapshotFit(
        stage: "match", version: 1, log: logIdentity, upstream: upstreamIdentity, lastSequence: 10)
}

extension LogSummary {
    fileprivate init(lastSequence: UInt64) throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        for number in 0..<lastSequence { try writer.append([event(Int(number))]) }
        self = try EventLogs.summary(directory: scratch.log)
    }
}

extension FileCalls {
    /// Writes, syncs and renames succeed `count` times in all, and then always fail.
    fileprivate static func failing(after count: Int, code: CInt) -> FileCalls {
        let disk = FailingDisk(after: count, code: code)
        var calls = FileCalls()
        let real = calls
        calls.write = { file, parts, count, offset in
            disk.fails() ? -1 : real.write(file, parts, count, offset)
        }
        calls.sync = { disk.fails() ? -1 : real.sync($0) }
        calls.rename = { disk.fails() ? -1 : real.rename($0, $1) }
        return calls
    }
}

private final class FailingDisk: Sendable {
    private let left: Mutex<Int>
    private let code: CInt

    init(after count: Int, code: CInt) {
        left = Mutex(count)
        self.code = code
    }

    func fails() -> Bool {
        left.withLock { left in
            left -= 1
            errno = code
            return left < 0
        }
    }
}
