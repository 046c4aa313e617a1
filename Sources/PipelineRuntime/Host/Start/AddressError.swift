/// An address that a stage or the gateway cannot serve.
package struct AddressError: Error, Hashable, CustomStringConvertible {
    /// The setting that gives the address.
    package let key: String
    /// What is wrong, and what to do.
    package let reason: String

    package init(key: String, reason: String) { (self.key, self.reason) = (key, reason) }

    /// For an endpoint that another process serves.
    ///
    /// - Parameter host: The name of this host, if another process of the same host may be the one; otherwise nil.
    init(key: String, inUse endpoint: String, host: String? = nil) {
        let (what, tool) = endpoint.hasPrefix("tcp://") ? ("port", "ss -ltnp") : ("socket", "ss -lxp")
        let guess = host.map { "; perhaps host \($0) is already running" } ?? ""
        self.init(
            key: key,
            reason: """
                \(endpoint): \(what) in use: another process serves it (`\(tool)` shows which)\(guess); \
                stop it or choose another `\(key)`
                """)
    }

    package var description: String { reason }
}
