import EventLog
import Foundation

/// Reads whole configuration files.
enum ConfigurationFile {
    /// Who may read a file.
    enum Readers {
        case anyone
        /// Only the owner: the group and others must not be able to read the file.
        case owner
        /// As `owner`, but if root owns the file and the reader is another user, the group may read the file too.
        /// systemd lets a service read its credentials by an access list, and the mask of the list appears as the
        /// group's mode (acl(5), "Correspondence").
        case service

        /// Whether the mode lets too many users read the file.
        func isTooOpen(_ mode: mode_t, owner: uid_t, reader: uid_t) -> Bool {
            switch self {
            case .anyone: false
            case .owner: mode & 0o044 != 0
            case .service: mode & (owner == 0 && reader != 0 ? 0o004 : 0o044) != 0
            }
        }
    }

    /// - Parameter name: The name of the file in the error for a file that is too large.
    static func read(
        _ path: String, bytesMax: Int, readers: Readers = .anyone, name: String = "the file"
    ) throws(Complaint) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failed("open", path) }
        defer { close(descriptor) }
        // Checks the open file, because the path may lead to another file by now.
        if readers != .anyone { try checkMode(of: descriptor, path, readers) }
        return try read(descriptor, path, bytesMax: bytesMax, name: name)
    }

    /// Reads a secret's text. If it ends with a newline, this one newline is removed, because editors add it.
    static func secret(_ path: String, readers: Readers = .owner) throws(Complaint) -> String {
        let bytes = try read(path, bytesMax: 64 << 10, readers: readers, name: path)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Complaint("\(path) is not UTF-8 text") }
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// Whether the file can be read more than once. A pipe, for example, gives its contents only to the first reader.
    static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private static func checkMode(of descriptor: Int32, _ path: String, _ readers: Readers) throws(Complaint) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failed("read", path) }
        guard !readers.isTooOpen(status.st_mode, owner: status.st_uid, reader: geteuid()) else {
            throw Complaint("\(path) can be read by users other than its owner", hint: "chmod 600 \(path)")
        }
    }

    private static func read(
        _ descriptor: Int32, _ path: String, bytesMax: Int, name: String
    ) throws(Complaint) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = uninterrupted { Foundation.read(descriptor, &buffer, buffer.count) }
            guard count >= 0 else { throw failed("read", path) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= bytesMax else {
                throw Complaint("\(name) is larger than \(Quantities.bytes.text(Int64(bytesMax)))")
            }
        }
    }

    private static func failed(_ verb: String, _ path: String) -> Complaint {
        Complaint("cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }

    /// Where a text stops being valid UTF-8.
    static func placeOfInvalidByte(_ bytes: [UInt8]) -> Place {
        var (line, column) = (1, 1)
        var iterator = bytes.makeIterator()
        var decoder = UTF8()
        while case .scalarValue(let scalar) = decoder.decode(&iterator) {
            (line, column) = scalar == "\n" ? (line + 1, 1) : (line, column + 1)
        }
        return Place(line: line, column: column)
    }

    static var currentFolder: String { FileManager.default.currentDirectoryPath }
}
