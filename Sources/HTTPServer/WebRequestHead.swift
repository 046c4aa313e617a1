import HTTPTypes
import HummingbirdCore
import NIOHTTP1

/// The head of a request whose body has not been read.
package struct WebRequestHead {
    /// The path as the client sent it, still percent-encoded.
    package let path: String
    /// The query as the client sent it, without the question mark; empty if the target has no query.
    package let query: String
    /// Returns all values of a header. The name must be in lower case. Do not use this for the header `host`, which may
    /// be missing here.
    package let header: (_ name: String) -> [String]

    init(_ request: Request) {
        self.init(request.uri) { name in HTTPField.Name(name).map { request.headers[values: $0] } ?? [] }
    }

    init(_ head: HTTPRequestHead) { self.init(URI(head.uri)) { head.headers[$0] } }

    private init(_ uri: URI, _ header: @escaping (String) -> [String]) {
        (path, query, self.header) = (uri.path, uri.query ?? "", header)
    }
}
