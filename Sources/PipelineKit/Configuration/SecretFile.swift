/// A file with a secret, named on a command line. As with the files of ``Secret``, only its owner may read it.
package enum SecretFile {
    /// The file's text. If it ends with a newline, this one newline is removed.
    ///
    /// - Throws: If the file cannot be read, is larger than 64 KiB or is not UTF-8, or if users other than its owner
    ///   may read it.
    package static func read(_ path: String) throws(SecretFileError) -> String {
        do throws(Complaint) {
            return try ConfigurationFile.secret(path)
        } catch {
            throw SecretFileError(description: [error.reason, error.hint].compactMap(\.self).joined(separator: "; "))
        }
    }
}

package struct SecretFileError: Error, Hashable, CustomStringConvertible {
    package let description: String
}
