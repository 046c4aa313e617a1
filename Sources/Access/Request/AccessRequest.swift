/// The parts of a web request that say who makes it.
package struct AccessRequest {
    /// As it was sent: percent-encoded, without the query.
    package var path: String
    /// As it was sent, without the question mark; empty without a query.
    package var rawQuery: String
    package var body: [UInt8]
    /// The client's IP address. Behind a proxy: the address that the proxy reports, otherwise all clients share one
    /// limit.
    package var address: String
    /// All values of the header with this name, which is in lower case.
    package var header: (_ name: String) -> [String]

    package init(
        path: String, rawQuery: String = "", body: [UInt8] = [], address: String,
        header: @escaping (_ name: String) -> [String] = { _ in [] }
    ) {
        self.path = path
        self.rawQuery = rawQuery
        self.body = body
        self.address = address
        self.header = header
    }

    /// The value of a header; nil without the header.
    ///
    /// - Throws: `BAD_REQUEST` if the header occurs more than once.
    func single(_ name: String) throws(AccessError) -> String? {
        let values = header(name.lowercased())
        guard values.count <= 1 else { throw .badRequest(name, "the header occurs \(values.count) times") }
        return values.first
    }
}
