import Foundation
import TestSupport

/// A pipeline of five stages in a folder of its own, and commands for the pipeline. The path of the folder is short
/// enough for `ipc` endpoints.
final class Notes: Sendable {
    let folder = Folder.parent + "/belfry-\(UUID().uuidString.prefix(8))"
    var pipeline: String { folder + "/notes.yaml" }

    /// - Parameter ingest: The settings of the stage ingest, in YAML.
    init(ingest: String = "{}") throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try write(Notes.yaml(ingest), to: "notes.yaml")
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: folder) } catch {
            // An error does not matter: the system clears its temporary folder.
        }
    }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
        return folder + "/" + name
    }

    func read(_ name: String) throws -> String {
        guard FileManager.default.fileExists(atPath: folder + "/" + name) else { return "" }
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)), as: UTF8.self)
    }

    private static func yaml(_ ingest: String) -> String {
        """
        pipeline: notes
        data: data
        log: { sync: interval 50ms }
        stages:
          ingest: \(ingest)
          match: { from: ingest }
          coalesce: { from: match, window: 0s }
          payload: { from: coalesce }
          deliver: { from: payload, transports: { apns: { use: file, path: pushes.ndjson }, screen: { use: console } } }

        """
    }

    // MARK: Commands

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    /// Commands that register a phone and save a subscription to every note.
    static func phone(transport: String = "apns") -> String {
        """
        {"type":"device.register",\(place),"user":"_alice","device":"alice-phone","transport":"\(transport)",\
        "token":"6a0f","topic":"com.example.Notes"}
        {"type":"subscription.save",\(place),"database":"private","user":"_alice","subscription":\
        {"subscriptionID":"feed","subscriptionType":"query","query":{"recordType":"Note"},"zoneWide":true,\
        "firesOn":["create","update","delete"],"notificationInfo":{"alertBody":"A note"}}}

        """
    }

    /// A change of one note, which the subscription of ``phone(transport:)`` watches.
    ///
    /// - Parameter second: The second of the change's time. Nil if the change has no time.
    static func change(_ name: String, second: Int? = nil) -> String {
        let time = second.map { #""time":"2026-11-20T09:30:\#($0 < 10 ? "0" : "")\#($0)Z","# } ?? ""
        return """
            {"type":"record.save",\(time)\(place),"database":"private","owner":"_alice","record":{"recordName":"\(name)",\
            "recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_alice"},\
            "fields":{"title":{"value":"Hi","type":"STRING"}}}}

            """
    }

    static func changes(_ range: Range<Int>) -> String { range.map { change("n\($0)") }.joined() }

    /// The record names of pushes, in order.
    static func names(_ pushes: String) -> [String] {
        pushes.split(separator: "\n").compactMap { $0.firstMatch(of: /"rid":"([^"]*)"/).map { String($0.1) } }
    }
}
