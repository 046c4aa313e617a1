import EventLog
import Events
import JSON

/// From where on each stage that reads a log may still ask for it: `consumers.json` beside the log, so that a stage
/// that is down still has what it needs.
///
/// The file may be behind: then more is kept than is needed, never less. Its last element is the CRC-32C of all before
/// it; files of earlier builds have none, and are believed.
struct ConsumerPositions {
    static let fileName = "consumers.json"

    private let path: String
    private var firsts: [String: UInt64] = [:]
    private var saved: [String: UInt64] = [:]

    /// - Throws: ``AtomicTextFileError`` where the file is there and not what Belfry wrote.
    init(logDirectory: String) throws {
        path = logDirectory + "/" + Self.fileName
        guard let text = try AtomicTextFile.read(path, bytesMax: 1 << 20) else { return }
        guard let firsts = ConsumerPositions.parse(text) else { throw AtomicTextFileError.unreadable(path) }
        (self.firsts, saved) = (firsts, firsts)
    }

    /// The first sequence that any of these may ask for: all of the log for one that has never said.
    func first(of consumers: [String]) -> UInt64 { consumers.map { firsts[$0] ?? 1 }.min() ?? .max }

    /// - Returns: Whether a consumer needs more than it did: that is to be saved at once.
    mutating func take(_ told: [String: UInt64]) -> Bool {
        let needsMore = told.contains { $1 < firsts[$0] ?? 1 }
        firsts.merge(told) { $1 }
        return needsMore
    }

    mutating func save() throws {
        guard firsts != saved else { return }
        try AtomicTextFile.write(ConsumerPositions.text(firsts), to: path)
        saved = firsts
    }

    private static func text(_ firsts: [String: UInt64]) -> String {
        var buffer = ByteBuffer()
        buffer.append("[")
        for (name, first) in firsts.sorted(by: { $0.key < $1.key }) {
            buffer.append("{")
            buffer.append("name", name)
            buffer.append(.first, first)
            buffer.append("},")
        }
        let crc = checksum(buffer.bytes)
        buffer.append("{")
        buffer.append("crc", crc)
        buffer.append("}]\n")
        return buffer.text
    }

    private static func checksum(_ bytes: UnsafeRawBufferPointer) -> String {
        String(CRC32C.checksum(bytes), radix: 16)
    }

    private static func parse(_ text: String) -> [String: UInt64]? {
        var parser = JSONParser()
        return Array(text.utf8).withUnsafeBytes { bytes in
            var firsts: [String: UInt64] = [:]
            do throws(JSONError) {
                for element in try parser.parse(bytes).elements {
                    if let crc = element.text("crc") {
                        let before = UnsafeRawBufferPointer(rebasing: bytes[..<element.offset])
                        guard crc == checksum(before) else { return nil }
                        continue
                    }
                    guard let name = element.text("name"), let first = element.natural(.first) else { return nil }
                    firsts[name] = first
                }
            } catch { return nil }
            return firsts
        }
    }
}
