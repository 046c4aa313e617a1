import EventLog
import Events
import JSON

/// For each stage that reads a log, and for the gateway: the first sequence that the reader may still ask for. The file
/// `consumers.json` beside the log keeps these sequences, so that they also protect events while a reader is down.
///
/// The file may be out of date. Then more of the log is kept than needed, never less. The file's last element is the
/// CRC-32C of everything before it. Files of earlier builds have no checksum and are trusted.
struct ConsumerPositions: Equatable {
    static let fileName = "consumers.json"

    private let path: String
    private var firsts: [String: UInt64] = [:]

    /// - Throws: ``AtomicTextFileError`` if the file is damaged or cannot be read.
    init(logDirectory: String) throws {
        path = logDirectory + "/" + Self.fileName
        do throws(AtomicTextFileError) {
            guard let text = try AtomicTextFile.read(path, bytesMax: 1 << 20) else { return }
            guard let firsts = ConsumerPositions.parse(text) else { throw .notWrittenByBelfry(path) }
            self.firsts = firsts
        } catch {
            guard case .notWrittenByBelfry = error else { throw error }
            throw AtomicTextFileError.notWrittenByBelfry(path, advice: ConsumerPositions.advice)
        }
    }

    private static let advice =
        "remove this file and restart the stage, which writes it again; until then, nothing is removed from the log"

    /// The first sequence that any of these consumers may ask for; 1 if one of them has never reported, and
    /// `UInt64.max` without consumers.
    func first(of consumers: [String]) -> UInt64 { consumers.map { firsts[$0] ?? 1 }.min() ?? .max }

    /// Takes over the positions that consumers have reported.
    ///
    /// - Returns: Whether a consumer needs earlier events than before. Then the positions must be saved at once.
    mutating func update(with reported: [String: UInt64]) -> Bool {
        let needsMore = reported.contains { $1 < firsts[$0] ?? 1 }
        firsts.merge(reported) { $1 }
        return needsMore
    }

    func save() throws { try AtomicTextFile.write(ConsumerPositions.text(firsts), to: path) }

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
