/// The parts of a web request that say who makes it.
package struct AccessRequest {
    /// The path as the client sent it: percent-encoded, without the query.
    package var path: String
    /// The query as the client sent it, without the question mark; empty if the request has no query.
    package var rawQuery: String
    package var body: [UInt8]
    /// The client for which failed attempts are counted. Requests with equal strings share one limit. If the gateway
    /// knows only the address of a proxy, all clients of the proxy share one limit.
    package var client: String
    /// Returns all values of a header. The name must be in lower case.
    package var header: (_ name: String) -> [String]
    private let knownPath: WebServicesPath?

    /// - Parameter knownPath: The parsed `path`, if the caller has parsed it already.
    package init(
        path: String, rawQuery: String = "", body: [UInt8] = [], client: String, knownPath: WebServicesPath? = nil,
        header: @escaping (_ name: String) -> [String] = { _ in [] }
    ) {
        self.path = path
        self.rawQuery = rawQuery
        self.body = body
        self.client = client
        self.header = header
        self.knownPath = knownPath
    }

    var parsedPath: WebServicesPath {
        get throws(AccessError) { if let knownPath { knownPath } else { try WebServicesPath(path) } }
    }

    /// The value of a header; nil if the request does not have the header.
    ///
    /// - Throws: `BAD_REQUEST` if the header occurs more than once.
    func single(_ name: String) throws(AccessError) -> String? {
        let values = header(name.lowercased())
        guard values.count <= 1 else { throw .badRequest(name, "the header occurs \(values.count) times") }
        return values.first
    }
}
