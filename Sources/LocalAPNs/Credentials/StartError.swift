/// Why the server does not start.
package enum StartError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A file cannot be read or written, or a folder cannot be made.
    case file(path: String, reason: String)
    /// The file that the user named does not exist.
    case missing(path: String)
    /// A file has wrong contents, or its contents cannot be made.
    case content(path: String, reason: String)
    case address(host: String, port: Int, reason: String)

    package var description: String {
        switch self {
        case .file(let path, let reason), .content(let path, let reason): "\(path): \(reason)"
        case .missing(let path): "\(path): there is no such file"
        case .address(let host, let port, let reason): "cannot listen at \(host):\(port): \(reason)"
        }
    }
}
