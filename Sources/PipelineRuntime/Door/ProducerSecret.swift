import Glibc

/// What shows a door that a name's producer is the one that used the name first, where no CURVE key does.
package enum ProducerSecret {
    static let bytes = 16...200
    /// In the data folder. It is its owner's alone, whatever others may do there.
    package static let fileName = "producer.secret"

    /// A new one, which nobody can guess.
    package static func drawn() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The one that a file has; where there is no file, it is made, for its owner alone.
    ///
    /// - Throws: ``AtomicTextFileError`` where it can be neither read nor made, ``ProducerSecretError`` where it has no secret.
    package static func kept(in path: String) throws -> String {
        if let text = try read(path) { return text }
        let draft = "\(path).\(drawn())"
        defer { unlink(draft) }
        try AtomicTextFile.make(draft, holding: drawn() + "\n")
        // Of two who make it at once, both take what the first one made.
        guard link(draft, path) == 0 || errno == EEXIST else { throw AtomicTextFileError.failed("make", path, errno) }
        // Lines may be durable before this name is, and then nobody could go on behind them.
        try AtomicTextFile.synchronizeFolder(of: path)
        guard let text = try read(path) else { throw AtomicTextFileError.failed("read", path, ENOENT) }
        return text
    }

    private static func read(_ path: String) throws -> String? {
        var status = stat()
        guard stat(path, &status) != 0 || status.st_mode & 0o077 == 0 else {
            throw ProducerSecretError(path: path, reason: "others than its owner may use it; chmod 600 \(path)")
        }
        guard let text = try AtomicTextFile.read(path, bytesMax: 64 << 10) else { return nil }
        let secret = text.hasSuffix("\n") ? String(text.dropLast()) : text
        guard bytes.contains(secret.utf8.count) else {
            throw ProducerSecretError(
                path: path, reason: "a producer's secret has \(bytes.lowerBound) to \(bytes.upperBound) bytes")
        }
        return secret
    }
}

extension HostPlan {
    /// The secret of producers that act for the pipeline itself, made when it is first asked for.
    package func producerSecret() throws -> String {
        try SocketFiles.makeFolder(data, mode)
        return try ProducerSecret.kept(in: "\(data)/\(ProducerSecret.fileName)")
    }
}

package struct ProducerSecretError: Error, Hashable, CustomStringConvertible {
    let path: String
    let reason: String

    package var description: String { "\(path): \(reason)" }
}
