import Foundation
import PipelineKit

/// A folder for one test, removed after it.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "belfry-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            print("left behind: \(path)")
        }
    }

    func text(of name: String) throws -> String { try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
    }
}

func pushes(_ lines: String...) -> [Delivery] {
    lines.enumerated().map { index, line in
        Delivery(id: .init(push: UInt64(index + 1), device: "mac"), transport: "file", line: Array(line.utf8))
    }
}
