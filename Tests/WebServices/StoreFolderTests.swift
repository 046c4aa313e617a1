import EventLog
import Foundation
import RecordStore
import TestSupport
import Testing

@testable import PipelineTestKit
@testable import WebServices

/// The store of a gateway, rebuilt from the log and copied for another gateway.
@Suite("A gateway's store folder", .timeLimit(.minutes(3)))
struct StoreFolderTests {
    private static func storeFolder(_ rig: GatewayRig) throws -> StoreFolder {
        let file = try rig.file()
        return StoreFolder(try GatewaySettings(of: file, path: "web.yaml"), of: file)
    }

    private static func dump(_ path: String, _ rig: GatewayRig) throws -> [String] {
        let log = try #require(try storeFolder(rig).changesLog())
        let store = try RecordStore(path: path, log: log.identity)
        var lines: [String] = []
        try store.dump { lines.append($0) }
        try store.close()
        return lines
    }

    /// Creates, changes and deletes records of a user, deletes a zone, and creates a record of another user.
    private static func change(_ rig: GatewayRig, _ seed: UInt64) async throws {
        var draw = Seeded(seed)
        for zone in ["Work", "Home"] {
            try await rig.post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(zone)"}}}]}"#)
        }
        for _ in 0..<40 {
            let (name, zone) = ("n\(draw.below(8))", draw.one(of: ["Work", "Home", "_defaultZone"]))
            let operation = draw.one(of: ["forceUpdate", "forceReplace", "forceDelete"])
            _ = try await rig.modify(
                operation, name, fields: operation == "forceDelete" ? nil : #"{"title":{"value":"\#(name)"}}"#,
                zone: zone)
        }
        try await rig.post(
            "private/zones/modify",
            #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Home"}}}]}"#)
        _ = try await rig.modify("create", "b1", as: "_bob")
    }

    @Test(arguments: Seeded.seeds)
    func `a rebuilt store has the content of the old store`(seed: UInt64) async throws {
        var stopped: GatewayRig?
        try await GatewayRig.with { rig in
            try await Self.change(rig, seed)
            stopped = rig
        }
        let rig = try #require(stopped)
        let folder = try Self.storeFolder(rig)
        let before = try Self.dump(folder.store, rig)
        #expect(before.contains { $0.hasPrefix("record|") && $0.contains(#""b1""#) }, "seed \(seed)")
        let summary = try folder.rebuild { _ in }
        #expect(try Self.dump(folder.store, rig) == before, "seed \(seed)")
        // The line of a record ends with its fields, as quoted JSON. A deleted record has no fields.
        #expect(summary.records == before.count { $0.hasPrefix("record|") && $0.hasSuffix(#"}""#) }, "seed \(seed)")
    }

    @Test func `an interrupted rebuild leaves the old store`() async throws {
        struct Interrupted: Error {}
        var stopped: GatewayRig?
        try await GatewayRig.with { rig in
            _ = try await rig.modify("create", "n1")
            stopped = rig
        }
        let rig = try #require(stopped)
        let folder = try Self.storeFolder(rig)
        let before = try Self.dump(folder.store, rig)
        #expect(throws: Interrupted.self) { try folder.rebuild { _ in throw Interrupted() } }
        #expect(try Self.dump(folder.store, rig) == before)
        _ = try folder.rebuild { _ in }
        #expect(try Self.dump(folder.store, rig) == before)
    }

    @Test func `from a log whose first events were removed, a store is rebuilt only if the loss is accepted`()
        async throws
    {
        var stopped: GatewayRig?
        try await GatewayRig.with { rig in
            _ = try await rig.modify("create", "n1")
            stopped = rig
        }
        let rig = try #require(stopped)
        let folder = try Self.storeFolder(rig)
        let before = try Self.dump(folder.store, rig)
        let log = try #require(try folder.changesLog())
        let parent = URL(filePath: log.directory).deletingLastPathComponent().path
        let writer = try EventLogWriter(EventLogOptions(directory: parent, name: log.name, segmentBytesMax: 1))
        let line = Array(#"{"type":"later"}"#.utf8) + [UInt8(ascii: "\n")]
        for _ in 0..<2 {
            _ = try line.withUnsafeBytes { try writer.append($0, count: 1, cursor: writer.cursor, now: writer.lastNow) }
        }
        _ = try writer.trim(before: log.lastSequence + 2)
        try writer.close()
        let first = try #require(try folder.changesLog()).firstSequence
        #expect(first > 1)
        #expect(throws: StoreFolderError.trimmed(log: log.directory, first: first)) { try folder.rebuild { _ in } }
        #expect(try Self.dump(folder.store, rig) == before)
        #expect(try folder.rebuild(acceptsLoss: true) { _ in }.records == 0)
    }

    @Test func `a store that a gateway uses is not rebuilt, and no second gateway starts with it`() async throws {
        try await GatewayRig.with { rig in
            let folder = try Self.storeFolder(rig)
            let inUse = RecordStoreError.inUse(folder: folder.path, process: getpid())
            #expect(throws: inUse) { try folder.rebuild { _ in } }
            let second = try Gateway(of: rig.file(), path: "web.yaml") { _ in }
            await #expect(throws: inUse) { try await second.run { _ in } }
        }
    }

    @Test func `another gateway starts with a copy that was made during writes`() async throws {
        try await GatewayRig.with { rig in
            let writes = Task {
                for number in 0..<60 { _ = try await rig.modify("create", "n\(number)") }
            }
            while try await rig.post("private/records/lookup", #"{"records":[{"recordName":"n10"}]}"#)[
                "records.0.created.timestamp"] == nil
            {}
            let copy = rig.folder.path + "/second"
            let copied = try Self.storeFolder(rig).copy(to: copy)
            #expect(copied.records > 10)
            #expect(throws: StoreFolderError.exists(copy + "/store.sqlite")) {
                try Self.storeFolder(rig).copy(to: copy)
            }
            let used = rig.folder.path + "/third"
            try FileManager.default.createDirectory(atPath: used + "/assets", withIntermediateDirectories: true)
            #expect(throws: StoreFolderError.exists(used + "/assets")) { try Self.storeFolder(rig).copy(to: used) }
            #expect(!FileManager.default.fileExists(atPath: used + "/store.sqlite"))
            try await writes.value
            let all = #"{"query":{"recordType":"Note"}}"#
            let first = try await rig.post("private/records/query", all)
            try await rig.withSecondGateway(store: copy) { send in
                let second = try await send("private/records/query", all)
                #expect(second.text == first.text && first.count("records") == 60)
            }
            #expect(FileManager.default.fileExists(atPath: copy + "/producer.secret"))
            let secrets = try ["second", "api"].map { name in
                try String(contentsOfFile: "\(rig.folder.path)/\(name)/producer.secret", encoding: .utf8)
            }
            #expect(secrets[0] != secrets[1], "each gateway is a producer of its own")
        }
    }

    @Test func `gateways that share the folder of assets accept each other's tickets and receipts`() async throws {
        try await GatewayRig.with { rig in
            let store = rig.folder.path + "/second"
            try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: store + "/assets", withDestinationPath: rig.folder.path + "/api/assets")
            let upload = try await rig.post(
                "private/assets/upload", #"{"tokens":[{"recordType":"Note","fieldName":"picture"}]}"#)
            let address = try #require(upload["tokens.0.url"]?.split(separator: "/").last)
            try await rig.withPortOfSecondGateway(store: store) { port in
                let sent = try await rig.send("POST", "/assets/\(address)", Data("picture".utf8), port: port)
                let checksum = try #require(sent["singleFile.fileChecksum"], "\(sent)")
                let receipt = try #require(sent["singleFile.receipt"])
                let saved = try await rig.modify(
                    "create", "n1",
                    fields: #"{"picture":{"value":{"fileChecksum":"\#(checksum)","receipt":"\#(receipt)"}}}"#)
                let url = try #require(saved["records.0.fields.picture.value.downloadURL"], "\(saved)")
                let ticket = try #require(url.split(separator: "/").last)
                let loaded = try await rig.send("GET", "/assets/\(ticket)", port: port)
                #expect(loaded.status == 200 && loaded.text == "picture", "\(loaded)")
            }
        }
    }

    @Test func `the size of an asset is the size of its file, whatever the client says`() async throws {
        try await GatewayRig.with { rig in
            let upload = try await rig.post(
                "private/assets/upload", #"{"tokens":[{"recordType":"Note","fieldName":"picture"}]}"#)
            let address = try #require(upload["tokens.0.url"]?.split(separator: "/").last)
            let sent = try await rig.send("POST", "/assets/\(address)", Data("picture".utf8))
            let checksum = try #require(sent["singleFile.fileChecksum"], "\(sent)")
            let receipt = try #require(sent["singleFile.receipt"])
            for (name, size) in [("n1", #","size":50000000"#), ("n2", "")] {
                let saved = try await rig.modify(
                    "create", name,
                    fields: #"{"f":{"value":{"fileChecksum":"\#(checksum)","receipt":"\#(receipt)"\#(size)}}}"#)
                #expect(saved["records.0.fields.f.value.size"] == "7", "\(saved)")
            }
        }
    }
}
