import Foundation

/// A temporary folder, which is removed when this object is freed.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "belfry-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path(percentEncoded: false)
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch {
            // The system clears its temporary folder anyway.
        }
    }
}
