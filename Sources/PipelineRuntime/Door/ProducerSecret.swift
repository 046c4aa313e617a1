import Glibc

/// The secret by which a door recognises the owner of a producer's name. If a producer has a CURVE key that the
/// pipeline file lists under a client's name, the producer's new names belong to this client instead. The key of a
/// stage does not count.
package enum ProducerSecret {
    /// The allowed lengths of a secret, in bytes.
    static let byteCounts = 16...200
    /// The name of the secret's file in the data folder. Only the file's owner may read or write it, whatever the
    /// folder's mode.
    package static let fileName = "producer.secret"

    /// A new random secret.
    package static func random() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Reads the secret in a file. If the file does not exist, makes it with a new secret, readable only by its owner.
    ///
    /// - Throws: ``AtomicTextFileError`` if the file cannot be read or made, ``ProducerSecretError`` if its contents or
    ///   its mode are wrong.
    package static func readOrMake(at path: String) throws -> String {
        if let text = try read(path) { return text }
        let draft = "\(path).\(random())"
        defer { unlink(draft) }
        try AtomicTextFile.make(draft, holding: random() + "\n")
        // If two processes make a secret at once, both use the one that was linked first.
        guard link(draft, path) == 0 || errno == EEXIST else { throw AtomicTextFileError.failed("make", path, errno) }
        // Without this, a power failure could lose the secret but keep the lines that were sent with it.
        try AtomicTextFile.synchronizeFolder(of: path)
        guard let text = try read(path) else { throw AtomicTextFileError.failed("read", path, ENOENT) }
        return text
    }

    private static func read(_ path: String) throws -> String? {
        var status = stat()
        guard stat(path, &status) != 0 || status.st_mode & 0o077 == 0 else {
            throw ProducerSecretError(path: path, reason: "users other than its owner may use it; chmod 600 \(path)")
        }
        let content: String?
        do throws(AtomicTextFileError) { content = try AtomicTextFile.read(path, bytesMax: 64 << 10) } catch {
            guard case .notWrittenByBelfry = error else { throw error }
            throw ProducerSecretError(
                path: path,
                reason:
                    "it is not UTF-8 text; restore the file, because producers' names or assets' tickets belong to its secret"
            )
        }
        guard let text = content else { return nil }
        let secret = text.hasSuffix("\n") ? String(text.dropLast()) : text
        guard byteCounts.contains(secret.utf8.count) else {
            let (least, most) = (byteCounts.lowerBound, byteCounts.upperBound)
            throw ProducerSecretError(
                path: path, reason: "the secret has \(secret.utf8.count) bytes; it needs \(least) to \(most) bytes")
        }
        return secret
    }
}

extension HostPlan {
    /// The secret in the data folder. Input files of ingest use it, and so does `belfry send --producer` without
    /// another secret or key. The first call makes it.
    package func producerSecret() throws -> String {
        try SocketFiles.makeFolder(data, mode)
        return try ProducerSecret.readOrMake(at: "\(data)/\(ProducerSecret.fileName)")
    }
}

package struct ProducerSecretError: Error, Hashable, CustomStringConvertible {
    let path: String
    let reason: String

    package var description: String { "\(path): \(reason)" }
}
