import Foundation

/// A temporary folder of one test. It is removed when the object is released.
final class TemporaryFolder {
    let path = NSTemporaryDirectory() + "bt-\(UUID().uuidString.prefix(8))"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch { print("cannot remove \(path): \(error)") }
    }

    func file(_ name: String, _ text: String) throws -> String {
        try file(name, Array(text.utf8))
    }

    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
        return path + "/" + name
    }
}

let fiveStages = """
    pipeline: notes
    stages:
      ingest: {}
      match: { from: ingest }
      coalesce: { from: match }
      payload: { from: coalesce }
      deliver: { from: payload, transports: { apns: { use: console } } }

    """
