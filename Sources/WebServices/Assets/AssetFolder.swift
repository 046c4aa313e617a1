import EventLog
import Foundation
import PipelineRuntime
import Signing

/// The files of assets, each kept once under the checksum of its content.
struct AssetFolder: Sendable {
    let path: String
    /// The permissions of new folders and files.
    let mode: DataMode

    private static let secretName = "secret"

    // CloudKit Web Services Reference, "Data Size Limits".
    static let bytesMax = 50_000_000

    /// The SHA-256 of a file's content in hexadecimal: `fileChecksum`.
    static func checksum(of bytes: [UInt8]) -> String {
        SHA256.digest(of: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func isChecksum(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// The secret that signs tickets and receipts: the same for all gateways that share this folder. The first gateway
    /// makes it.
    ///
    /// - Throws: If the secret's file cannot be read or made, or if users other than its owner may use it.
    func secret() throws -> String {
        try makeFolder(path)
        return try ProducerSecret.readOrMake(at: "\(path)/\(Self.secretName)")
    }

    /// Copies the files to the folder `target`, which does not exist yet. The secret is not copied: gateways that share
    /// no files share no tickets. If ``path`` is a symbolic link, no file is copied. Instead `target` becomes a link to
    /// the same folder, and both gateways share its files and its secret.
    func copyFiles(to target: String) throws {
        let files = FileManager.default
        guard files.fileExists(atPath: path) else { return }
        if try files.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeSymbolicLink {
            let shared = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            return try files.createSymbolicLink(atPath: target, withDestinationPath: shared)
        }
        try makeFolder(target)
        for name in try folders { try files.copyItem(atPath: "\(path)/\(name)", toPath: "\(target)/\(name)") }
    }

    private func makeFolder(_ path: String) throws {
        if let code = mode.makeFolders(path) { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
    }

    /// Saves a file. Returns after the file is durable.
    ///
    /// - Returns: The checksum of the file.
    func save(_ bytes: [UInt8]) throws -> String {
        let checksum = Self.checksum(of: bytes)
        let file = file(checksum)
        try makeFolder(folder(checksum))
        if !keep(checksum) {
            let draft = "\(file).\(UUID().uuidString)"
            do {
                try write(bytes, to: draft)
                // If another upload has made the same file meanwhile, this replaces it.
                guard rename(draft, file) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            } catch {
                unlink(draft)
                throw error
            }
        }
        // The names of the file and of its folder must survive a crash too.
        try AtomicTextFile.synchronizeFolder(of: file)
        try AtomicTextFile.synchronizeFolder(of: folder(checksum))
        return checksum
    }

    /// Gives the file with a checksum the current date, which keeps the sweep from removing it.
    ///
    /// - Returns: False if there is no such file.
    @discardableResult
    func keep(_ checksum: String) -> Bool {
        guard Self.isChecksum(checksum), utimensat(AT_FDCWD, file(checksum), nil, 0) == 0 else { return false }
        // The system finds the file before it sets the date. In between, a removal may have given the file another name
        // and have read the old date.
        return access(file(checksum), F_OK) == 0
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = mode.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: bytes)
        try handle.synchronize()
        try handle.close()
    }

    /// The content of the file with a checksum; nil if there is no such file.
    func read(_ checksum: String) throws -> [UInt8]? {
        guard Self.isChecksum(checksum), FileManager.default.fileExists(atPath: file(checksum)) else { return nil }
        return Array(try Data(contentsOf: URL(fileURLWithPath: file(checksum))))
    }

    /// The size of the file with a checksum in bytes; nil if there is no such file.
    func size(of checksum: String) -> Int? {
        var status = stat()
        return Self.isChecksum(checksum) && stat(file(checksum), &status) == 0 ? Int(status.st_size) : nil
    }

    /// The names of the files that were last saved or kept before `date`: checksums, and names of drafts that a crash
    /// left.
    func names(before date: Date) throws -> [String] {
        let files = FileManager.default
        guard files.fileExists(atPath: path) else { return [] }
        return try folders.flatMap { folder in
            try files.contentsOfDirectory(atPath: "\(path)/\(folder)").filter { name in
                guard Self.isChecksum(String(name.prefix(64))) else { return false }
                let attributes = try files.attributesOfItem(atPath: "\(path)/\(folder)/\(name)")
                return (attributes[.modificationDate] as? Date).map { $0 < date } ?? false
            }
        }
    }

    /// The names of the folders with assets: the first two digits of checksums.
    private var folders: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.utf8.count == 2 } }
    }

    /// Removes a file that was last saved or kept before `date`.
    ///
    /// Another thread or gateway may save the file at the same time. So the file first gets another name: whoever saves
    /// it from then on writes a new file, and an earlier save shows in the date.
    ///
    /// - Returns: False if the file was not removed, because it is newer, or because there is no such file.
    func remove(_ name: String, savedBefore date: Date) throws -> Bool {
        let aside = "\(file(name)).\(UUID().uuidString)"
        guard rename(file(name), aside) == 0 else {
            guard errno == ENOENT else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            return false
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: aside)
        guard let saved = attributes[.modificationDate] as? Date, saved < date else {
            // If the file was saved once more meanwhile, both have the same content.
            guard rename(aside, file(name)) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            return false
        }
        try FileManager.default.removeItem(atPath: aside)
        return true
    }

    private func folder(_ checksum: String) -> String { "\(path)/\(checksum.prefix(2))" }
    private func file(_ checksum: String) -> String { "\(folder(checksum))/\(checksum)" }
}
