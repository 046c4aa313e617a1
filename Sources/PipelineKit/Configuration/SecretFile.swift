/// A file with a secret that a command is given by name, as the files of ``Secret`` are: only its owner may read it.
package enum SecretFile {
    private static let bytesMax = 64 << 10

    /// - Returns: Its text, without the one newline at its end.
    /// - Throws: ``SecretFileError`` where it cannot be read, or others may read it too.
    package static func read(_ path: String) throws(SecretFileError) -> String {
        do throws(Complaint) {
            let bytes = try ConfigurationFile.read(path, bytesMax: bytesMax, readers: .owner)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Complaint("\(path) is not UTF-8 text")
            }
            return text.hasSuffix("\n") ? String(text.dropLast()) : text
        } catch {
            throw SecretFileError(description: [error.reason, error.hint].compactMap(\.self).joined(separator: "; "))
        }
    }
}

package struct SecretFileError: Error, Hashable, CustomStringConvertible {
    package let description: String
}
