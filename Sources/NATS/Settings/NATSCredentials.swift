/// How a client proves to a server who it is.
///
/// The value prints as its kind, such as `<password>`, or as the path of its file. So users, passwords, tokens and
/// seeds never reach a log.
package enum NATSCredentials: Hashable, Sendable {
    case none
    case user(String, password: String)
    case token(String)
    /// The path of a `.creds` file with a user's JWT and seed. libnats reads the file each time it connects.
    case file(String)
    case nkey(NKeySeed)

    var isNKey: Bool {
        if case .nkey = self { true } else { false }
    }
}

extension NATSCredentials: CustomStringConvertible, CustomReflectable {
    package var description: String {
        switch self {
        case .none: "<no credentials>"
        case .user: "<password>"
        case .token: "<token>"
        case .file(let path): path
        case .nkey: "<nkey>"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
