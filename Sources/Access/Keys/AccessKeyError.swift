import Glibc

/// Why the key file cannot be used or changed.
package enum AccessKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    case missing(String)
    case failed(verb: String, path: String, errno: Int32)
    /// Users other than the file's owner have a permission on the file.
    case accessibleToOthers(String)
    case unreadable(String, reason: String)
    /// A value of a new key or of a sign-out is not acceptable.
    case invalid(String)
    case nameTaken(String)
    case unknownKey(String)

    package var description: String {
        switch self {
        case .missing(let path): "there is no key file \(path); `belfry key create` makes it"
        case .failed(let verb, let path, let code): "cannot \(verb) \(path): \(String(cString: strerror(code)))"
        case .accessibleToOthers(let path):
            "\(path): users other than the owner have a permission on this file; run `chmod 600 \(path)`"
        case .unreadable(let path, let reason): "\(path) is not a key file that this version of Belfry reads: \(reason)"
        case .invalid(let reason): reason
        case .nameTaken(let name): "there is a key named \(name) already; revoke it, or choose another name"
        case .unknownKey(let name): "there is no key with the name or ID \(name)"
        }
    }
}
