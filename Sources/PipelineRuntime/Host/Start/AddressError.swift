/// An address that a stage or the gateway cannot serve.
package struct AddressError: Error, Hashable, CustomStringConvertible {
    /// The setting that gives the address.
    package let key: String
    /// What is wrong, and what to do.
    package let reason: String

    package init(key: String, reason: String) { (self.key, self.reason) = (key, reason) }

    /// For an endpoint that another process serves.
    init(key: String, inUse endpoint: String) {
        let (what, tool) = endpoint.hasPrefix("tcp://") ? ("port", "ss -ltnp") : ("socket", "ss -lxp")
        self.init(
            key: key,
            reason: """
                \(endpoint): \(what) in use: another process serves it (`\(tool)` shows which); \
                stop it or choose another `\(key)`
                """)
    }

    package var description: String { reason }
}
