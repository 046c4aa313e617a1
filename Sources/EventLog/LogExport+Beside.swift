import Glibc

/// What lies beside a log's segments and that a replay needs.
extension LogExport {
    /// The settings that the log was made under.
    static func exportSettings(of log: LogDirectory, _ put: (String) throws -> Void) throws {
        for line in try SettingsFile.read(logDirectory: log.path)?.texts ?? [] {
            try put("{\"settings\":\(line)}")
        }
    }

    /// Snapshots, where a replay cannot do without: what they stand for is no longer in the log, or in the one that it
    /// was made from.
    ///
    /// To be called before the segments are read: then no snapshot is ahead of them.
    static func neededSnapshots(of log: LogDirectory, _ upstream: UpstreamNote?) throws -> [SnapshotFile] {
        let source = upstream.map { LogDirectory(path: LogDirectory.split(log.path).folder + "/" + $0.log) }
        guard try log.isTrimmed() || source?.isTrimmed() ?? false else { return [] }
        return try SnapshotStore(logDirectory: log.path).list().filter { $0.problem == nil }
    }

    static func exportSnapshots(_ files: [SnapshotFile], _ put: (String) throws -> Void) throws {
        for file in files {
            guard let content = try OpenFile.ifPresent(file.path) else { continue }
            try export(content, as: LogDirectory.split(file.path).name, put)
        }
    }

    private static func export(_ file: OpenFile, as name: String, _ put: (String) throws -> Void) throws {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: partBytes, alignment: 1)
        defer { unsafe room.deallocate() }
        var offset: UInt64 = 0
        while case let count = try unsafe file.read(into: room, at: offset), count > 0 {
            try put(unsafe "{\"snapshot\":\"\(name)\",\"part\":\"\(Base64.text(room[..<count]))\"}")
            offset += UInt64(count)
        }
    }

    /// Of a snapshot on one line.
    private static let partBytes = 192 << 10
}

extension LogDirectory {
    /// Whether its beginning is not there.
    fileprivate func isTrimmed() throws(EventLogError) -> Bool { try segments().first ?? .max > 1 }
}

/// RFC 4648, section 4.
enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func text(_ bytes: Slice<UnsafeMutableRawBufferPointer>) -> String {
        var text: [UInt8] = []
        unsafe text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in unsafe stride(from: bytes.startIndex, to: bytes.endIndex, by: 3) {
            let piece = unsafe bytes[start..<min(start + 3, bytes.endIndex)]
            let bits = unsafe piece.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * (3 - piece.count))
            for place in 0..<4 {
                let digit = digits[Int(bits >> (18 - 6 * place) & 63)]
                unsafe text.append(place <= piece.count ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
