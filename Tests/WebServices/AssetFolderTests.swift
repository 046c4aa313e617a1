import EventLog
import Foundation
import TestSupport
import Testing
import Time

@testable import WebServices

@Suite struct AssetFolderTests {
    private static func permissions(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `new files and folders have the permissions of the data mode, and equal content is kept once`() throws {
        let folder = try Folder()
        let assets = AssetFolder(path: folder.path + "/assets", mode: DataMode(folders: 0o750))
        let checksum = try assets.save(Array("picture".utf8))
        #expect(try assets.save(Array("picture".utf8)) == checksum)
        #expect(try assets.read(checksum) == Array("picture".utf8))
        let parent = "\(assets.path)/\(checksum.prefix(2))"
        #expect(try FileManager.default.contentsOfDirectory(atPath: parent) == [checksum])
        #expect(try Self.permissions(of: parent) == 0o750)
        #expect(try Self.permissions(of: "\(parent)/\(checksum)") == 0o640)
    }

    @Test func `simultaneous uploads of the same content all succeed`() async throws {
        let folder = try Folder()
        let assets = AssetFolder(path: folder.path + "/assets", mode: .owner)
        for round in 0..<20 {
            let bytes = Array("picture \(round)".utf8)
            let checksums = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 { group.addTask { try assets.save(bytes) } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(checksums.count == 1)
        }
        #expect(try assets.names(before: .distantFuture).count == 20)
    }

    @Test func `gateways that share a folder agree on its secret, which is not listed as an asset`() async throws {
        let folder = try Folder()
        let path = folder.path + "/api/assets"
        let secrets = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try AssetFolder(path: path, mode: .owner).secret() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(secrets.count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["secret"])
        #expect(try Self.permissions(of: path + "/secret") == 0o600)
        let assets = AssetFolder(path: path, mode: .owner)
        let checksum = try assets.save(Array("picture".utf8))
        #expect(try assets.names(before: .distantFuture) == [checksum])
        #expect(assets.size(of: checksum) == 7 && assets.size(of: String(repeating: "0", count: 64)) == nil)
    }

    @Test func `a copied folder has the files and a secret of its own; a symbolic link is copied as a link`() throws {
        let folder = try Folder()
        func assets(_ name: String) -> AssetFolder {
            AssetFolder(path: "\(folder.path)/\(name)", mode: DataMode(folders: 0o750))
        }
        let checksum = try assets("one").save(Array("picture".utf8))
        let secret = try assets("one").secret()
        try assets("one").copyFiles(to: assets("two").path)
        #expect(try assets("two").read(checksum) == Array("picture".utf8))
        #expect(try assets("two").secret() != secret)
        #expect(try Self.permissions(of: assets("two").path) == 0o750)
        try FileManager.default.createSymbolicLink(
            atPath: assets("link").path, withDestinationPath: assets("one").path)
        try assets("link").copyFiles(to: assets("three").path)
        #expect(try assets("three").secret() == secret)
    }

    @Test func `a draft that a crash left is listed like a saved file, and can be removed`() throws {
        let folder = try Folder()
        let assets = AssetFolder(path: folder.path + "/assets", mode: .owner)
        let checksum = try assets.save(Array("picture".utf8))
        let draft = "\(checksum).0"
        try folder.write("pic", to: "assets/\(checksum.prefix(2))/\(draft)")
        #expect(try assets.names(before: .distantFuture).sorted() == [checksum, draft])
        #expect(try assets.remove(draft, savedBefore: .distantFuture))
        #expect(try assets.names(before: .distantFuture) == [checksum])
        #expect(try assets.names(before: .distantPast) == [])
    }

    @Test func `a file that is sent again while the sweep removes it is kept`() async throws {
        let folder = try Folder()
        let assets = AssetFolder(path: folder.path + "/assets", mode: .owner)
        for round in 0..<200 {
            let bytes = Array("picture \(round)".utf8)
            let checksum = try assets.save(bytes)
            try FileManager.default.setAttributes(
                [.modificationDate: Date.distantPast],
                ofItemAtPath: "\(assets.path)/\(checksum.prefix(2))/\(checksum)")
            async let saved = assets.save(bytes)
            async let removed = assets.remove(checksum, savedBefore: Date().addingTimeInterval(-60))
            _ = try await (saved, removed)
            #expect(try assets.read(checksum) == bytes)
        }
    }

    @Test func `a file to which a record refers again is kept`() throws {
        let folder = try Folder()
        let assets = AssetFolder(path: folder.path + "/assets", mode: .owner)
        let checksum = try assets.save(Array("picture".utf8))
        let limit = Date().addingTimeInterval(1)
        #expect(assets.keep(checksum) && !assets.keep(String(repeating: "0", count: 64)))
        #expect(try !assets.remove(checksum, savedBefore: limit.addingTimeInterval(-3_600)))
        #expect(try assets.remove(checksum, savedBefore: limit))
        #expect(try !assets.remove(checksum, savedBefore: limit))
        #expect(try assets.names(before: .distantFuture).isEmpty)
    }

    @Test func `a receipt is valid for its file, and not so long that the file may have been removed`() {
        let (tickets, now) = (AssetTickets(secret: "secret"), Instant(microseconds: 1_800_000_000_000_000))
        let (checksum, other) = (String(repeating: "a", count: 64), String(repeating: "b", count: 64))
        let receipt = tickets.receipt(checksum, at: now)
        func isValid(_ text: String, _ checksum: String, hours: Int = 0) -> Bool {
            tickets.isReceipt(text, of: checksum, at: now.advanced(by: .seconds(hours * 3_600)))
        }
        #expect(isValid(receipt, checksum) && isValid(receipt, checksum, hours: 23))
        #expect(!isValid(receipt, checksum, hours: Int(AssetSweep.ageMin) / 3_600))
        #expect(!isValid(receipt, other) && !isValid("9" + receipt, checksum) && !isValid("", checksum))
        #expect(!AssetTickets(secret: "another").isReceipt(receipt, of: checksum, at: now))
    }
}
