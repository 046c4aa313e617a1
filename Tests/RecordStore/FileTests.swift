import Foundation
import TestSupport
import Testing
import Time

@testable import RecordStore

struct FileTests {
    private let folder: Folder
    private let path: String

    init() throws {
        folder = try Folder()
        path = folder.file("records.sqlite")
    }

    private func fillStore() throws {
        let test = try TestStore(folder)
        let fields = #"{"f":{"value":"\#(String(repeating: "x", count: 200))"}}"#
        try test.apply((0..<300).map { Line.save("r\($0)", fields) })
        try test.writer.close()
    }

    @Test func `a reopened store has the same content`() throws {
        let test = try TestStore(folder)
        try test.apply([Line.save("a")])
        let dump = try test.dump
        try test.writer.close()
        #expect(try TestStore(folder).dump == dump)
    }

    @Test func `only the owner of the store's file may read it`() throws {
        _ = try TestStore(folder)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `the store of another log is refused`() throws {
        try fillStore()
        let other = LogIdentity(seed: "other", name: "changes")
        #expect(throws: RecordStoreError.otherLog(path: path, found: testLog.description, expected: other)) {
            try RecordStore(path: path, log: other)
        }
    }

    @Test func `the size in a summary includes the files that SQLite keeps beside the store`() throws {
        let test = try TestStore(folder)
        try test.apply((0..<300).map { Line.save("r\($0)") })
        let sizes = try ["", "-wal", "-shm"].map { suffix in
            try #require(try FileManager.default.attributesOfItem(atPath: path + suffix)[.size] as? Int)
        }
        #expect(sizes[1] > 0)
        #expect(try StoreSummary(path: path).bytes == UInt64(sizes.reduce(0, +)))
        try test.writer.close()
    }

    @Test func `a read sees one state of the store, although events are applied meanwhile`() throws {
        let test = try TestStore(folder)
        try test.apply([Line.save("a")])
        let seen = try test.store.read { db in
            let first = try RecordStore.Applied(db).sequence
            try test.apply([Line.save("b")])
            return [first, try RecordStore.Applied(db).sequence]
        }
        #expect(seen == [1, 1])
        #expect(try test.store.applied.sequence == 2)
    }

    @Test func `the store of another version is refused`() throws {
        let test = try TestStore(folder)
        try test.store.writing.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        try test.writer.close()
        #expect(throws: RecordStoreError.otherVersion(path: path, found: 99, known: Schema.version)) {
            try RecordStore(path: path, log: testLog)
        }
    }

    @Test func `a file that is not a store needs a rebuild, and a store can be created after its removal`() throws {
        try folder.write(String(repeating: "no database ", count: 500), to: "records.sqlite")
        let error = try #require(throws: RecordStoreError.self) { try RecordStore(path: path, log: testLog) }
        #expect(error.needsRebuild && "\(error)".contains("rebuild"))
        try StoreFiles.remove(path)
        #expect(try RecordStore(path: path, log: testLog).applied.sequence == 0)
    }

    /// Damages every third page, a single page each time. Some damage stays unnoticed.
    @Test func `damage to a page causes no crash, and its error asks for a rebuild`() throws {
        try fillStore()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var errors = 0
        for page in stride(from: 0, to: whole.count / 4096, by: 3) {
            var damaged = whole
            damaged.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(repeating: 0xA5, count: 4096))
            try StoreFiles.remove(path)
            try damaged.write(to: URL(fileURLWithPath: path))
            do throws(RecordStoreError) {
                let store = try RecordStore(path: path, log: testLog)
                try store.dump { _ in }
            } catch {
                errors += 1
                #expect(error.needsRebuild, "page \(page): \(error)")
            }
        }
        #expect(errors > 5)
    }

    @Test func `a failed copy names the store that cannot be read, or the target that cannot be written`() throws {
        let target = folder.file("copy.sqlite")
        #expect(try failedCopy(to: target) == "unusable \(path)")
        try folder.write(String(repeating: "no database ", count: 500), to: "records.sqlite")
        #expect(try failedCopy(to: target) == "damaged \(path)")
        try StoreFiles.remove(path)
        try fillStore()
        let unreachable = folder.file("no/folder/copy.sqlite")
        #expect(try failedCopy(to: unreachable) == "unusable \(unreachable)")
    }

    private func failedCopy(to target: String) throws -> String {
        switch try #require(throws: RecordStoreError.self, performing: { try RecordStore.copy(path, to: target) }) {
        case .damaged(let path, _): "damaged \(path)"
        case .unusable(let path, _): "unusable \(path)"
        case let error: "\(error)"
        }
    }

    @Test func `a file that cannot be created needs no rebuild`() throws {
        let error = try #require(throws: RecordStoreError.self) {
            try RecordStore(path: folder.file("no/folder/records.sqlite"), log: testLog)
        }
        #expect(!error.needsRebuild)
    }
}
