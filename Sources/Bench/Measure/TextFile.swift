import Foundation

/// Writes the text files of `belfry bench`, and counts their lines.
enum TextFile {
    static func write(_ text: String, to path: String) throws { try write(Data(text.utf8), to: path) }

    static func write(_ bytes: Data, to path: String) throws {
        do { try bytes.write(to: URL(fileURLWithPath: path)) } catch {
            throw ToolFailure(.cannotCreate, "cannot write \(path): \(error.localizedDescription)")
        }
    }

    /// The number of line feeds in a file.
    static func lineCount(of path: String) throws -> UInt64 {
        do {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
            return bytes.withUnsafeBytes { UInt64($0.count { $0 == UInt8(ascii: "\n") }) }
        } catch {
            throw ToolFailure(.noInput, "cannot read \(path): \(error.localizedDescription)")
        }
    }
}
